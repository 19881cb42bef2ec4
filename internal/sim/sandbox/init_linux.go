package sandbox

import "os"

// argv0 is the name under which this program is process 1 of a machine. argv[1] is the boot identity, which tells the machines of a
// host apart in its process list.
const argv0 = "smol-machine"

// A machine's process 1 is whatever program imports this package, executed again: there is no second binary to build, to
// find or to keep in step. It must not come as far as that program's main.
func init() {
	if len(os.Args) == 2 && os.Args[0] == argv0 && os.Getpid() == 1 {
		os.Exit(process1Main(os.Args[1]))
	}
}

// process1Main makes a machine of the process and then is its agent. It returns only if that failed.
func process1Main(bootID string) int {
	a := &agent{bootID: bootID, children: newChildren()}
	s := newSetup(os.Stdin, os.Stdout)
	s.run()
	s.do("open agent", a.open)
	s.do("close descriptors", a.closeOthers)
	a.console = s.finish(a.null)
	if s.failed == nil {
		a.run()
	}
	return 70
}
