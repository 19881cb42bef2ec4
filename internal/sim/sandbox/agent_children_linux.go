package sandbox

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// children are the commands of the agent. As process 1 it must reap orphans too, which it cannot tell from commands before it
// has reaped them; so nothing but reap ever waits.
type children struct {
	mu   sync.Mutex
	last uint64
	pids map[int]*child
	ids  map[uint64]*child
}

// child is a command.
type child struct {
	id  uint64
	pid int
	// done is closed when it has been reaped, and status is set then.
	done   chan struct{}
	status syscall.WaitStatus
}

func newChildren() *children {
	return &children{pids: map[int]*child{}, ids: map[uint64]*child{}}
}

// spawn starts a command. The lock is shared with reap, so that a command which ends at once is still found.
func (c *children) spawn(path string, argv []string, attr *syscall.ProcAttr) (*child, error) {
	if os.Getpid() != 1 {
		return nil, fmt.Errorf("not in a machine") // whatever happens, a command does not run on the host
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return nil, err
	}
	c.last++
	started := &child{id: c.last, pid: pid, done: make(chan struct{})}
	c.pids[pid], c.ids[started.id] = started, started
	return started, nil
}

// reap waits for whatever ended, each time a SIGCHLD arrives.
func (c *children) reap(ended <-chan os.Signal) {
	for range ended {
		c.reapAll()
	}
}

// reapAll takes all there are: signals coalesce.
func (c *children) reapAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if pid <= 0 {
			return
		}
		if ended := c.pids[pid]; ended != nil {
			delete(c.pids, pid)
			delete(c.ids, ended.id)
			ended.status = status
			close(ended.done)
		}
	}
}
