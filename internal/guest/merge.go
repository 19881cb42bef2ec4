package guest

import (
	"slices"
	"strings"
)

var (
	// mergeArgv goes before a command whose two outputs are to be one.
	mergeArgv = []string{"sh", "-c", `exec "$@" 2>&1`, "sh"}
	// mergeLine goes before the text of a shell that has to stay that of the shell itself.
	mergeLine = "exec 2>&1\n"
)

// MergeOutput returns the argv that runs argv with one output, its standard error going where its standard output goes, and how many
// arguments it has before those of argv. A script that is too long for an argument stays that of the shell itself, which gets it as a file.
func MergeOutput(argv []string) (merged []string, shift int) {
	if len(argv) > 2 && argv[1] == "-c" && len(argv[2]) > MaxArg {
		merged = slices.Clone(argv)
		merged[2] = mergeLine + merged[2]
		return merged, 0
	}
	return append(slices.Clone(mergeArgv), argv...), len(mergeArgv)
}

// ParseMerged returns the argv that [MergeOutput] was given, for guests that answer in Go. It reports false, and returns argv, if it was not.
func ParseMerged(argv []string) (plain []string, ok bool) {
	switch n := len(mergeArgv); {
	case len(argv) > n && slices.Equal(argv[:n], mergeArgv):
		return argv[n:], true
	case len(argv) > 2 && argv[1] == "-c" && strings.HasPrefix(argv[2], mergeLine):
		plain = slices.Clone(argv)
		plain[2] = strings.TrimPrefix(plain[2], mergeLine)
		return plain, true
	}
	return argv, false
}
