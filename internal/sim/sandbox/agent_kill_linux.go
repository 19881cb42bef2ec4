package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim"
)

// kill kills a command that has not been reaped, and what else is in reach.
func (c *children) kill(id uint64, reach sim.Reach) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	target := c.ids[id]
	if target == nil {
		return os.ErrProcessDone
	}
	switch reach {
	case sim.ReachGroup:
		return unix.Kill(-target.pid, unix.SIGKILL)
	case sim.ReachSelf:
		return unix.Kill(target.pid, unix.SIGKILL)
	case sim.ReachTree:
		return killTree(target.pid)
	}
	return fmt.Errorf("reach %d: %w", reach, unix.EINVAL)
}

// killTree kills a process and its descendants. They are halted until there are no further ones: a process that stands still neither
// makes children nor reaps them, so none can escape to process 1 and no number can become another's.
func killTree(pid int) error {
	tree := map[int]bool{pid: true}
	for grown := true; grown; {
		for p := range tree {
			unix.Kill(p, unix.SIGSTOP)
		}
		grown = false
		for p, parent := range parents() {
			if tree[parent] && !tree[p] {
				tree[p], grown = true, true
			}
		}
	}
	var err error
	for p := range tree {
		if e := unix.Kill(p, unix.SIGKILL); e != nil && p == pid {
			err = e
		}
	}
	return err
}

// parents returns the parent of every process.
func parents() map[int]int {
	all := map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		line, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		// The name is in parentheses and may contain some itself.
		i := strings.LastIndexByte(string(line), ')')
		var pid, parent int
		var state string
		if _, err := fmt.Sscan(string(line), &pid); err != nil || i < 0 {
			continue
		}
		if _, err := fmt.Sscan(string(line[i+1:]), &state, &parent); err == nil {
			all[pid] = parent
		}
	}
	return all
}

// signal signals the process group of a command that has not been reaped: its number cannot belong to another one yet.
func (c *children) signal(id uint64, sig int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	target := c.ids[id]
	if target == nil {
		return os.ErrProcessDone
	}
	return unix.Kill(-target.pid, syscall.Signal(sig))
}
