package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
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
	settled := time.Now().Add(deadline.Sub(time.Now()) / 20)
	for {
		state, where := movingThread()
		switch {
		case state == 0:
			return nil
		case state == 'D' && time.Now().After(settled):
			return nil // waiting in the kernel, perhaps for a child that was stopped: it executes nothing
		case time.Now().After(deadline):
			return fmt.Errorf("%s is still in state %c", where, state)
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// movingThread returns the state of a thread that has not stopped, preferring one that does not sleep in the kernel.
func movingThread() (state byte, where string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/stat")
	for _, stat := range stats {
		if strings.HasPrefix(stat, "/proc/1/") {
			continue
		}
		line, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		// The name is in parentheses and may contain some itself.
		i := strings.LastIndexByte(string(line), ')')
		if i < 0 || i+2 >= len(line) || strings.IndexByte("TtZX", line[i+2]) >= 0 {
			continue
		}
		if state, where = line[i+2], stat; state != 'D' {
			return state, where
		}
	}
	return state, where
}
