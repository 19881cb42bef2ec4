package sandbox

import "os"

// Remove deletes a state directory.
func (g *Guest) Remove(dir string) error { return os.RemoveAll(dir) }
