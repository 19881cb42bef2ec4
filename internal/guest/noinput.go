package guest

import (
	"path"
	"slices"
)

// noInput runs its arguments with an input that has ended. It is one process: what it runs takes the shell's place.
const noInput = `exec "$@" </dev/null`

// NoInput returns the argv of a command that runs argv with an input that has ended, for an exec whose own input never does. It needs a
// shell and nothing else.
func NoInput(argv []string) []string { return shArgv(noInput, argv...) }

// ParseNoInput reads the argv back that was given to NoInput, for guests that answer in Go. It reports false for every other argv.
func ParseNoInput(argv []string) (command []string, ok bool) {
	if len(argv) <= firstArg || path.Base(argv[0]) != "sh" || argv[1] != "-c" || argv[nameArg] != Name || argv[scriptArg] != noInput {
		return nil, false
	}
	return slices.Clone(argv[firstArg:]), true
}
