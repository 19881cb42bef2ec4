//go:build linux || darwin

package main

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// watchReader calls gone once nobody can read what is written to w, a pipe or a socket. Without it that shows at the next write only, which may be
// a long call away. The function it returns ends the watch.
func watchReader(w io.Writer, gone func()) (stop func()) {
	f, ok := w.(*os.File)
	if !ok {
		return func() {}
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return func() {}
	}
	r, wake, err := os.Pipe()
	if err != nil {
		return func() {} // the next write tells
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = raw.Control(func(fd uintptr) { // it is closed: nobody writes either
			if hungUp(int32(fd), int32(r.Fd())) {
				gone()
			}
		})
	}()
	return func() {
		_ = wake.Close() // wakes the watch
		<-done
		_ = r.Close()
	}
}

// hungUp waits until the other end of fd or of stop is closed, and reports whether it is that of fd.
func hungUp(fd, stop int32) bool {
	// That an end is closed need not be asked for on all systems, but on some.
	fds := []unix.PollFd{{Fd: fd, Events: unix.POLLHUP}, {Fd: stop, Events: unix.POLLHUP}}
	for {
		_, err := unix.Poll(fds, -1)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && fds[1].Revents == 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
		}
	}
}
