//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notify asks for the signals that a command is handed, but for those that this program was started to ignore, as by nohup: the command ignores them too.
func notify(signals chan<- os.Signal) {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
}

func signalNumber(s os.Signal) byte {
	n, _ := s.(syscall.Signal)
	return byte(n)
}

// notifyMark asks for the signal that mark sends: one that is not handed on, and of those that are pending for a process the last to be delivered.
func notifyMark(marks chan<- os.Signal) { signal.Notify(marks, syscall.SIGWINCH) }

// mark sends a signal to this process, so that it comes through marks.
func mark(chan<- os.Signal) error { return syscall.Kill(os.Getpid(), syscall.SIGWINCH) }
