package sandbox

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC

// create makes process 1 in its namespaces. It waits for its configuration.
func (k *booting) create() error {
	in, input, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	k.input = input
	report, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close() // or reading the report would not end when the child does
	k.report = report

	pidfd := -1
	c := exec.Command("/proc/self/exe")
	c.Args = []string{argv0, k.BootID}
	c.Env = k.Env // never nil: a guest reads it in /proc/1/environ
	c.Stdin, c.Stdout, c.Stderr = in, out, out
	c.ExtraFiles = append([]*os.File{k.socket}, k.trees...)
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:                 namespaces,
		UidMappings:                []syscall.SysProcIDMap{k.id.uid},
		GidMappings:                []syscall.SysProcIDMap{k.id.gid},
		GidMappingsEnableSetgroups: k.id.root,
		Setsid:                     true,
		PidFD:                      &pidfd,
	}
	if k.id.root {
		// To be root of the namespace before the exec: an id that is not mapped loses its capabilities in it.
		c.SysProcAttr.Credential = &syscall.Credential{}
	}
	if err := startIn(k.state, c); err != nil {
		return err
	}
	pid := c.Process.Pid
	c.Process.Release()
	if k.process, err = newProcess1(pid, pidfd); err != nil {
		syscall.Kill(pid, syscall.SIGKILL) // it has not been waited for, so the number is still its own
		syscall.Wait4(pid, nil, 0, nil)
	}
	return err
}

// startIn starts c from a thread whose working directory is the state directory. The child inherits the directory itself: its
// ids could perhaps not walk the path, and a descriptor of it would belong to our mount namespace and not to its own.
func startIn(s *state, c *exec.Cmd) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_FS)
		if err == nil {
			err = s.control(unix.Fchdir)
		}
		if err == nil {
			err = c.Start()
		}
		done <- err
	}()
	return <-done
}
