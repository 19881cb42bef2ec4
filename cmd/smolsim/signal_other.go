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
