package serve

import (
	"errors"
	"fmt"
	"os"
)

// Process is one process and no other: a pid is given again, its start is not.
type Process struct {
	// PID is its number, and Start tells when it began, in the system's own way.
	PID   int    `json:"pid"`
	Start string `json:"start,omitempty"`
}

// Alive reports whether the process still runs. One that has ended and was not waited for does not. One that cannot be looked at, for want of files to
// open for instance, counts as running: what is done to the place of a serve that has ended would end one that has not.
func (p Process) Alive() bool {
	if p.PID <= 0 {
		return false
	}
	start, err := startOf(p.PID)
	if err != nil {
		return !errors.Is(err, errDied)
	}
	return start == p.Start
}

// identify returns the process that has the pid, which must be alive.
func identify(pid int) (Process, error) {
	start, err := startOf(pid)
	if err != nil {
		return Process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return Process{PID: pid, Start: start}, nil
}

// self is this program.
func self() Process {
	start, _ := startOf(os.Getpid())
	return Process{PID: os.Getpid(), Start: start}
}

// openProcess returns a handle of p, which on Linux stays one of p when the pid is given again; nil if p has ended.
func openProcess(p Process) (*os.Process, error) {
	h, err := os.FindProcess(p.PID)
	if err != nil {
		if !p.Alive() {
			return nil, nil
		}
		return nil, err
	}
	if !p.Alive() {
		return nil, h.Release()
	}
	return h, nil
}
