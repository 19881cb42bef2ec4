package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/pace"
	"github.com/smol-machines/smol-go/internal/private"
	"github.com/smol-machines/smol-go/smol"
)

// rolloutPort is the second port that every serve of a host binds, and rolloutVariable what moves it.
const (
	rolloutPort     = 10081
	rolloutVariable = "SMOLVM_GUEST_ROLLOUT_HOST_PORT"
)

// errDied is what waiting for a serve ends with when its process has.
var errDied = errors.New("the process has ended")

// command is a serve to be started.
type command struct {
	program string
	args    []string
	env     []string
	dir     string
	log     *os.File
}

// apply gives cmd what does not depend on the system.
func (c *command) apply(cmd *exec.Cmd) {
	cmd.Env, cmd.Dir = c.env, c.dir
	cmd.Stdout, cmd.Stderr = c.log, c.log
}

// exited is how a serve ended that this program had started.
type exited struct{ state *os.ProcessState }

// start starts a serve, once. Nothing is started when there may be another one on this host: on its way out, a second one that cannot listen
// stops the machines of the first.
func (s *Supervisor) start(ctx context.Context) (*Use, error) {
	program, err := s.program(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.free(ctx); err != nil {
		return nil, err
	}
	url, err := s.place(ctx)
	if err != nil {
		return nil, err
	}
	users, err := private.TryLock(s.path("serve.users"), false)
	if err != nil || users == nil {
		return nil, unavailable(err, "cannot lock "+s.path("serve.users"), "")
	}
	s.step("users")
	u, err := s.launch(ctx, program, url, users)
	if err != nil {
		users.Release()
		return nil, err
	}
	s.step("running")
	return u, nil
}

// free tries the port that every serve binds.
func (s *Supervisor) free(ctx context.Context) error {
	port := rolloutPort
	if v := lookup(s.c.Env, rolloutVariable); v != "" {
		n, err := strconv.ParseUint(v, 10, 16)
		if err != nil || n == 0 {
			return unavailable(nil, fmt.Sprintf("%s is %.40q, not a port", rolloutVariable, v), "set it to a number between 1 and 65535, or unset it")
		}
		port = int(n)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if gone := ended(ctx); gone != nil {
		return errors.Join(gone, closeListener(l))
	}
	if err != nil {
		return unavailable(err, fmt.Sprintf("port %d is taken, so another smolvm serve runs on this host; nothing was started, since a second one would stop its machines", port),
			where+"; a separate one needs its own SMOLVM_DATA_DIR and "+rolloutVariable)
	}
	return closeListener(l)
}

func closeListener(l net.Listener) error {
	if l == nil {
		return nil
	}
	return l.Close()
}

// place returns where the serve shall listen, which is free.
func (s *Supervisor) place(ctx context.Context) (string, error) {
	if s.c.OwnURL != "" {
		return s.c.OwnURL, removeSocket(s.c.OwnURL) // it was tried before: nobody listens there
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", unavailable(err, "no free port on this host: "+err.Error(), "")
	}
	return "http://" + l.Addr().String(), l.Close()
}

// listenArgument is how smolvm takes an address.
func listenArgument(url string) string { return strings.TrimPrefix(url, "http://") }

// launch starts the program, puts it on record, and waits until it answers. Whatever fails leaves no process behind.
func (s *Supervisor) launch(ctx context.Context, program, url string, users *private.Lock) (*Use, error) {
	log, err := openLog(s.path("serve.log"))
	if err != nil {
		return nil, unavailable(err, "cannot open the log: "+err.Error(), "see that the disk is not full")
	}
	defer func() { _ = log.Close() }()
	s.step("log")
	cmd, gate, err := spawn(&command{
		program: program, args: []string{"serve", "start", "--listen", listenArgument(url)},
		env: minimal(s.c.Env, runtime.GOOS), dir: s.c.Dir, log: log,
	})
	if err != nil {
		return nil, unavailable(err, fmt.Sprintf("cannot start %s: %v", program, err), "see whether it runs at all: "+program+" --version")
	}
	child := make(chan exited, 1)
	go func() {
		_ = cmd.Wait() // the state tells
		child <- exited{cmd.ProcessState}
	}()
	s.step("spawned")
	r := &record{Owner: self(), URL: url, State: stateStarting}
	if r.Process, err = identify(cmd.Process.Pid); err == nil {
		err = r.write(s.path("serve.pid"))
	}
	s.step("recorded")
	if err == nil {
		err = open(gate)
	} else if gate != nil {
		err = errors.Join(err, gate.Close())
	}
	s.step("released")
	var version string
	if err == nil {
		version, err = s.answer(ctx, url, s.c.StartTimeout, func() bool { return len(child) == 0 })
	}
	if err == nil {
		s.step("answering")
		if err = s.gate(version, program); err == nil {
			r.State = stateRunning
			err = r.write(s.path("serve.pid"))
		}
	}
	if err != nil {
		return nil, s.failed(ctx, r, child, err)
	}
	s.c.Log.Info("a serve was started", "pid", r.PID, "url", url, "version", version)
	return s.used(r, version, users, child), nil
}

// failed ends what was started, and says why it is of no use.
func (s *Supervisor) failed(ctx context.Context, r *record, child <-chan exited, err error) error {
	died := errors.Is(err, errDied)
	if r.Process.PID != 0 {
		if stop := s.end(r); stop != nil {
			return errors.Join(err, stop)
		}
	}
	state := (<-child).state
	said := tail(s.path("serve.log"))
	if said == "" {
		said = "it printed nothing"
	}
	hint := "the rest is in " + s.path("serve.log")
	switch {
	case ended(ctx) != nil:
		return ended(ctx)
	case died:
		return unavailable(err, fmt.Sprintf("smolvm serve ended with %v: %s", state, said), hint)
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable(nil, fmt.Sprintf("smolvm serve did not answer within %v: %s", s.c.StartTimeout, said), hint+"; or allow it more time")
	}
	var known *smol.Error
	if !errors.As(err, &known) {
		err = unavailable(err, "cannot start smolvm serve: "+err.Error(), hint)
	}
	return err
}

// answer waits until the service at url answers, within limit, as long as alive.
func (s *Supervisor) answer(ctx context.Context, url string, limit time.Duration, alive func() bool) (string, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error // of a question that was not cut off
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		lives := alive() // asked first: it may answer, and then end
		version, err := s.probe(limited, url)
		switch {
		case err == nil:
			return version, nil
		case ended(ctx) != nil:
			return "", ended(ctx)
		case !lives:
			return "", errDied
		case limited.Err() == nil:
			last = err
		}
		if err := pace.Wait(limited, wait); err != nil {
			return "", errors.Join(err, last)
		}
	}
}
