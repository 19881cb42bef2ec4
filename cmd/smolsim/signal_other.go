//go:build !unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notify asks for the signals that a command is handed.
func notify(signals chan<- os.Signal) { signal.Notify(signals, os.Interrupt, syscall.SIGTERM) }

func signalNumber(s os.Signal) byte {
	n, _ := s.(syscall.Signal)
	return byte(n)
}

// notifyMark does nothing: no process can send a signal to itself here.
func notifyMark(chan<- os.Signal) {}

// mark is as if a signal had come through marks.
func mark(marks chan<- os.Signal) error {
	marks <- os.Interrupt
	return nil
}
