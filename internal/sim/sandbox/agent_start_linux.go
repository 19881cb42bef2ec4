package sandbox

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var errNoCommand = errors.New("no command")

// start starts a command and stays until it has ended.
func (a *agent) start(c *net.UnixConn, req *startRequest, files *[]int) {
	if req == nil || len(req.Argv) == 0 {
		a.answer(c, errNoCommand)
		return
	}
	started, out, err := a.startCommand(req, *files)
	// Whoever is the last to hold them: the other side sees their end only when we do not.
	closeAll(*files)
	*files = nil
	if err != nil {
		a.answer(c, err)
		return
	}
	err = writeFrame(c, &reply{ID: started.id, PID: started.pid}, out...)
	closeAll(out)
	if err != nil {
		a.signal(started.id, int(unix.SIGKILL)) // who started it does not know that it runs
		return
	}
	a.await(c, started)
}

// await tells the caller how the command ended. A caller that goes away takes its command along, unless it has said otherwise.
func (a *agent) await(c *net.UnixConn, started *child) {
	var kept atomic.Bool
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			var then request
			files, err := readFrame(c, &then)
			closeAll(files)
			if err != nil || then.Op != opKeep {
				return
			}
			kept.Store(true)
		}
	}()
	select {
	case <-started.done:
		status := uint32(started.status)
		writeFrame(c, &reply{Status: &status})
		// The caller hangs up: if we did, while it still has something to say, the status could be lost.
		c.SetReadDeadline(time.Now().Add(requestTimeout))
		<-over
	case <-over:
		if !kept.Load() {
			a.signal(started.id, int(unix.SIGKILL))
		}
	}
}

// startCommand returns the command and the caller's ends of its streams.
func (a *agent) startCommand(req *startRequest, files []int) (*child, []int, error) {
	argv, env := toStrings(req.Argv), toStrings(req.Env)
	if req.DefaultEnv {
		env = os.Environ()
	}
	dir := string(req.Dir)
	if dir == "" {
		dir = "/"
	}
	if err := checkDir(dir); err != nil {
		return nil, nil, err
	}
	path, err := lookPath(argv[0], dir, env)
	if err != nil {
		return nil, nil, err
	}
	cred, err := a.ids.credential(string(req.User))
	if err != nil {
		return nil, nil, err
	}
	d, err := a.descriptors(req, files, cred)
	defer closeAll(d.made)
	if err != nil {
		closeAll(d.other)
		return nil, nil, err
	}
	a.gate.RLock() // a frozen machine starts nothing
	defer a.gate.RUnlock()
	sys := &syscall.SysProcAttr{Setsid: true, Setctty: req.TTY, Credential: cred}
	started, err := a.spawn(path, argv, &syscall.ProcAttr{Dir: dir, Env: env, Files: d.child[:], Sys: sys})
	if err != nil {
		closeAll(d.other)
		return nil, nil, &os.PathError{Op: "exec", Path: argv[0], Err: err}
	}
	return started, d.other, nil
}

func toStrings(bytes [][]byte) []string {
	s := make([]string, len(bytes))
	for i, b := range bytes {
		s[i] = string(b)
	}
	return s
}
