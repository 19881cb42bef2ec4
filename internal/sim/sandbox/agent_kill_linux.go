package sandbox

import (
	"fmt"
	"os"
	"syscall"
	"time"

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

// treeTimeout is how long the processes of a tree may take to stand still before they are killed all the same.
const treeTimeout = 2 * time.Second

// killTree kills a process and its descendants. They are halted until there are no further ones: a process that stands still neither
// makes children nor reaps them, so none can escape to process 1 and no number can become another's.
func killTree(pid int) error {
	tree := map[int]bool{pid: true}
	deadline := time.Now().Add(treeTimeout)
	// Twice, as a child may have been made after the first list of processes and before its parent was seen to stand still.
	for quiet := 0; quiet < 2 && time.Now().Before(deadline); quiet++ {
		for p := range tree {
			unix.Kill(p, unix.SIGSTOP)
		}
		if grow(tree) {
			quiet = -1
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

// grow adds the children of the processes in the tree. It reports whether there may be more of them: when it has found some, and as
// long as one of the tree still moves, for a fork that has begun is finished.
func grow(tree map[int]bool) bool {
	more := false
	for _, p := range processes() {
		switch {
		case tree[p.pid]:
			more = more || !halted(p.state) && p.state != stateBlocked
		case tree[p.parent]:
			tree[p.pid], more = true, true
		}
	}
	return more
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
