//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// inForeground reports whether the terminal of this process, if it has one, sends Ctrl-C to the process group of this process. The
// commands that it started are in the same group and get it from the terminal, too.
func inForeground() bool {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}

// alreadySent reports whether a command of ours has got the signal without our help.
func alreadySent(s os.Signal) bool { return s == os.Interrupt && inForeground() }
