package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Accidents end at these limits.
const (
	maxProcesses = 4096
	tmpSize      = "size=1g,nr_inodes=1m"
	runSize      = "size=64m,nr_inodes=64k"
)

// What the last line on the report pipe begins with. Everything before it is the console.
const (
	reportReady  = "smol-machine: ready"
	reportFailed = "smol-machine: failed: "
)

// failure is how a failed step is reported.
type failure struct {
	Step, Text string
	Errno      int
}

func (f *failure) err() error { return &remoteError{text: f.Text, errno: syscall.Errno(f.Errno)} }

// errInjected is the failure of a step that a test asked for.
var errInjected = errors.New("injected failure")

// setup makes a machine of the process it runs in, which is already in its namespaces. It stops at the first step that fails.
type setup struct {
	*config
	report io.Writer
	began  time.Time
	// console is written when there is something to decide, as every line would wake the other side.
	console bytes.Buffer
	// host and state are the host's root and the state directory, opened in this mount namespace: only such can be bound
	// from. root is the machine's root.
	host, state, root int
	failed            *failure
}

// newSetup reads what to do from in, and will report to out.
func newSetup(in io.Reader, out io.Writer) *setup {
	s := &setup{config: &config{}, report: out, began: time.Now()}
	const step = "configuration"
	s.do(step, func() error {
		err := json.NewDecoder(in).Decode(s.config)
		if s.FailAt == step { // which only this step itself can know
			err = errInjected
		}
		return err
	})
	return s
}

func (s *setup) run() {
	s.isolate()
	s.kernelFiles()
	s.tree()
	s.identify()
	s.enter()
}

// finish reports the outcome, which ends what the parent reads, and returns all that was said.
func (s *setup) finish(null int) string {
	last := reportReady
	if s.failed != nil {
		line, _ := json.Marshal(s.failed)
		last = reportFailed + string(line)
	}
	console := s.Said + s.console.String()
	fmt.Fprintln(s.report, console+last)
	if s.failed == nil {
		silence(null)
	}
	return console
}

// do runs a step if none has failed so far.
func (s *setup) do(step string, f func() error) {
	if s.failed != nil {
		return
	}
	err := errInjected
	if s.FailAt != step {
		err = f()
	}
	if err != nil {
		s.failed = &failure{Step: step, Text: err.Error()}
		if errno := syscall.Errno(0); errors.As(err, &errno) {
			s.failed.Errno = int(errno)
		}
		return
	}
	s.say(step)
}

// say writes a line on the console.
func (s *setup) say(line string) {
	fmt.Fprintf(&s.console, "[%12.6f] %s\n", time.Since(s.began).Seconds(), line)
}

// isolate leaves the host's mounts, and takes the machine's root as that of this process. From here on a path, whatever
// symbolic links a guest left in it, stays in the machine.
func (s *setup) isolate() {
	s.do("make mounts private", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") })
	// Onto itself, as only a mount can become the root. Relative, as the working directory is the state directory: it was
	// inherited, and its path may lead through directories that are closed to the ids of the machine.
	s.do("bind root", func() error { return unix.Mount(rootName, rootName, "", unix.MS_BIND, "") })
	s.do("open directories", func() (err error) {
		for _, d := range []struct {
			path string
			fd   *int
		}{{"/", &s.host}, {".", &s.state}, {rootName, &s.root}} {
			if *d.fd, err = unix.Open(d.path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
				return fmt.Errorf("%s: %w", d.path, err)
			}
		}
		return nil
	})
	s.do("change root", func() error { return unix.Chroot(rootName) })
	s.do("change directory", func() error { return unix.Chdir("/") })
}

// identify gives the machine its names and its loopback.
func (s *setup) identify() {
	s.do("set hostname", func() error { return unix.Sethostname([]byte(s.Hostname)) })
	s.do("loopback up", loopbackUp)
	s.do("set limits", func() error {
		if err := limit(unix.RLIMIT_NPROC, maxProcesses); err != nil {
			return err
		}
		// At 1, and not at 0, the kernel starts no handler of the host's for a core either.
		return limit(unix.RLIMIT_CORE, 1)
	})
}

// limit sets a resource limit to n, or to what it may at most be.
func limit(resource int, n uint64) error {
	var have unix.Rlimit
	if err := unix.Getrlimit(resource, &have); err != nil {
		return err
	}
	n = min(have.Max, n)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: n, Max: n})
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// enter lets go of the host's file system. The agent goes on in this process, and is not executed from inside: the program may
// need libraries that the machine does not have.
func (s *setup) enter() {
	s.do("leave root", func() error { // pivot_root is for a process whose root is the one to be replaced
		if err := unix.Fchdir(s.host); err != nil {
			return err
		}
		return unix.Chroot(".")
	})
	s.do("pivot root", func() error {
		if err := unix.Fchdir(s.root); err != nil {
			return err
		}
		return unix.PivotRoot(".", ".")
	})
	s.do("detach host", func() error { return unix.Unmount(".", unix.MNT_DETACH) })
	s.do("enter root", func() error { return unix.Chdir("/") })
}

// openHost opens a file of the host.
func (s *setup) openHost(path string) (*os.File, error) {
	fd, err := unix.Openat(s.host, strings.TrimPrefix(path, "/"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
