package sandbox

import "os"

// The argv[0] under which this program is process 1 of a machine: first to set it up, then as its agent. argv[1] is the boot
// identity, which tells the machines of a host apart in its process list.
const (
	setupArgv0 = "smol-machine-setup"
	agentArgv0 = "smol-machine"
)

// A machine's process 1 is whatever program imports this package, executed again: there is no second binary to build, to
// find or to keep in step. It must not come as far as that program's main.
func init() {
	if len(os.Args) != 2 || os.Getpid() != 1 {
		return
	}
	switch os.Args[0] {
	case setupArgv0:
		os.Exit(setupMain(os.Stdin, os.Stdout))
	case agentArgv0:
		os.Exit(agentMain(os.Args[1]))
	}
}
