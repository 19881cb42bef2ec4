package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// freezeTimeout is how long processes may take to stand still.
const freezeTimeout = 5 * time.Second

// freeze halts every process until the caller says otherwise or goes away: whoever froze a machine and then died must not
// have ended it.
func (a *agent) freeze(c *net.UnixConn) {
	a.gate.Lock()
	defer a.gate.Unlock()
	err := signalAll(unix.SIGSTOP)
	if err == nil {
		err = awaitStopped(time.Now().Add(freezeTimeout))
	}
	if a.answer(c, err) {
		var then request
		files, _ := readFrame(c, &then)
		closeAll(files)
	}
	err = signalAll(unix.SIGCONT)
	a.answer(c, err)
}

// signalAll signals every process of the machine. Process 1 leaves itself out.
func signalAll(sig unix.Signal) error {
	if os.Getpid() != 1 {
		return errors.New("not in a machine") // there, that would be every process of the host
	}
	if err := unix.Kill(-1, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return os.NewSyscallError("kill", err)
	}
	return nil
}

// awaitStopped returns when no thread runs any more: the signal is only the request.
func awaitStopped(deadline time.Time) error {
	patient := time.Now().Add(freezeTimeout / 20)
	for {
		moving := movingThread()
		switch {
		case moving == nil:
			return nil
		case moving.state == stateBlocked && time.Now().After(patient):
			return nil // it executes nothing either
		case time.Now().After(deadline):
			return fmt.Errorf("thread %d is still in state %c", moving.pid, moving.state)
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// movingThread returns a thread that is not halted, and one that is only blocked if there is no other.
func movingThread() (found *procStat) {
	own := map[int]bool{}
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			own[tid] = true
		}
	}
	for _, t := range threads() {
		if own[t.pid] || halted(t.state) {
			continue
		}
		if found = &t; t.state != stateBlocked {
			return found
		}
	}
	return found
}
