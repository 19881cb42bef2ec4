package script

import "context"

// own returns how the library's own script in argv is answered, or nil if it is another command.
func (i *instance) own(*Call) func(context.Context) int { return nil }
