//go:build linux || darwin

package serve_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/serve"
	"github.com/smol-machines/smol-go/smol"
)

// listen serves h on a socket until the test ends, and returns its URL.
func (p *place) listen(name string, h http.Handler) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		p.t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	p.t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return "unix://" + path
}

// stale leaves a socket that nobody listens at.
func (p *place) stale(name string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		p.t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		p.t.Fatal(err)
	}
	return "unix://" + path
}

// TestOrder looks at the address that was configured, then in the runtime directory, then where smolvm listens by default; what runs there is used
// and never stopped.
func TestOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.config()
	c.URL, c.Adopt = p.stale("stale.sock"), []string{p.stale("stale2.sock"), p.listen("usual.sock", health("1.20.1"))}
	uses := func(want, version string) {
		t.Helper()
		s := serve.New(c)
		l := s.Lease()
		defer closeLease(t, l)
		if u := get(t, l); u.URL != want || u.Version != version || u.Ours() {
			t.Errorf("uses %+v, want %s", u, want)
		}
		if err := s.Check(t.Context()); err != nil || serve.New(c).Check(t.Context()) != nil {
			t.Errorf("check: %v", err)
		}
	}
	uses(c.Adopt[1], "1.20.1")
	uses(p.listen("run/api.sock", health("1.20.2")), "1.20.2") // somebody's own, which is on no record
	c.URL = p.listen("configured.sock", health("1.20.3"))
	uses(c.URL, "1.20.3")
	c.URL = p.listen("old.sock", health("1.2.3"))
	refused(t, c, serve.ErrTooOld, "old.sock is smolvm \"1.2.3\"", "")
	checkError(t, serve.New(c).Check(t.Context()), serve.ErrTooOld, "old.sock is smolvm", "")
	c.MinVersion = ""
	uses(c.URL, "1.2.3")
	p.began(0)
}

// TestStaleSocket starts a serve where one has left its socket and its record. The pid on record was given again, here to this very test.
func TestStaleSocket(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"starting", "running", "stopping"} {
		p := newPlace(t)
		p.stale("run/api.sock")
		self, err := serve.Identify(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		p.write("run/serve.pid", 0o600, fmt.Sprintf(`{"pid":%d,"start":"%s0","owner":{"pid":999999998},"url":"unix://%s/api.sock","state":"%s"}`, self.PID, self.Start, p.run, state))
		l := newLease(p.config())
		get(t, l)
		closeLease(t, l)
		p.began(1)
		p.clean()
	}
}

// TestTaken wants nothing started, and nothing removed, where something else is.
func TestTaken(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	busy := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	p.listen("run/api.sock", busy)
	refused(t, p.config(), serve.ErrNotServed, "api.sock is taken", "SMOL_LOCAL_URL")

	q := newPlace(t)
	file := q.write("run/api.sock", 0o600, "precious")
	l := newLease(q.config())
	defer closeLease(t, l)
	if _, err := l.Get(t.Context()); !errors.Is(err, serve.ErrNotServed) {
		t.Errorf("got %v", err)
	}
	if b, err := os.ReadFile(file); string(b) != "precious" || err != nil {
		t.Errorf("the file holds %q, %v", b, err)
	}
	p.began(0)
	q.began(0)
}

// TestSilent is about a serve on record that does not answer: one that nobody uses is replaced, one that another program uses is not.
func TestSilent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	owner := p.program("supervisor")
	owner.uses()
	// Since when it is there does not matter, so it need not be waited for as long as one that worked before.
	c := p.config()
	c.Silence = 50 * time.Millisecond
	if err := os.Remove(filepath.Join(p.run, "api.sock")); err != nil {
		t.Fatal(err)
	}
	refused(t, c, serve.ErrNotServed, "which another program uses, does not answer", "machines run on")
	p.began(1)
	owner.kill()
	l := newLease(c)
	get(t, l)
	closeLease(t, l)
	p.began(2)
	p.clean()
}

func TestRecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("run/serve.pid", 0o600, "4711\n")
	refused(t, p.config(), serve.ErrNotServed, "serve.pid cannot be read", "remove the file")
	url := p.listen("run/api.sock", health("1.20.1"))
	l := newLease(p.config()) // what answers is used, whatever the record says
	if u := get(t, l); u.URL != url || u.Ours() {
		t.Errorf("uses %+v", u)
	}
	closeLease(t, l)
	p.began(0)
}

// TestNoFilesLeft wants a serve left alone that this program has no means to ask.
func TestNoFilesLeft(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	owner := p.program("supervisor")
	pid := owner.uses()
	owner.kill()
	c := p.config()
	c.Silence = time.Millisecond
	c.Probe = func(context.Context, string) (string, error) { return "", os.NewSyscallError("socket", syscall.EMFILE) }
	refused(t, c, serve.ErrNotServed, "cannot be asked", "open ones")
	l := newLease(p.config())
	if u := get(t, l); u.Process.PID != pid {
		t.Errorf("uses %+v, not serve %d", u, pid)
	}
	closeLease(t, l)
	p.began(1)
	p.clean()
}

// TestDir refuses a runtime directory in which others could put their socket.
func TestDir(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make func(p *place) error
		want string
		hint string
	}{
		"mode": {func(p *place) error { return errors.Join(os.Mkdir(p.run, 0o700), os.Chmod(p.run, 0o755)) }, "has the mode 0755, not 0700", "chmod 700 "},
		"link": {func(p *place) error {
			return errors.Join(os.Mkdir(p.run+"2", 0o700), os.Symlink(p.run+"2", p.run))
		}, "is no directory", "not a link"},
		"file": {func(p *place) error { return os.WriteFile(p.run, nil, 0o700) }, "is no directory", "remove it"},
	} {
		p := newPlace(t)
		if err := tt.make(p); err != nil {
			t.Fatal(err)
		}
		refused(t, p.config(), serve.ErrNotServed, tt.want, tt.hint)
		err := serve.New(p.config()).Check(t.Context())
		checkError(t, err, serve.ErrNotServed, tt.want, tt.hint)
		if !errors.Is(err, smol.ErrPermission) {
			t.Errorf("%s: %v is no ErrPermission", name, err)
		}
		p.began(0)
	}
	p := newPlace(t)
	c := p.config()
	c.Dir = filepath.Join(p.write("file", 0o600, ""), "run")
	refused(t, c, serve.ErrNotServed, "cannot make the runtime directory", "choose another one")
}

// TestLocked waits for the program that holds the lock, as long as it makes sense.
func TestLocked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.Mkdir(p.run, 0o700); err != nil {
		t.Fatal(err)
	}
	release, err := serve.HoldLock(filepath.Join(p.run, "serve.lock"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	c := p.config()
	c.StartTimeout, c.StopTimeout = time.Millisecond, time.Millisecond
	refused(t, c, serve.ErrNotServed, "serve.lock: another program holds it", "which program holds it")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := newLease(p.config())
	if _, err := l.Get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	closeLease(t, l)
	if err := serve.New(p.config()).Check(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("check: %v", err)
	}
}

// TestIdentify tells one process from another by more than the number.
func TestIdentify(t *testing.T) {
	first, err := serve.Identify(1)
	if err != nil {
		t.Fatal(err)
	}
	self, err := serve.Identify(os.Getpid())
	if err != nil || self.Start == first.Start || !self.Alive() {
		t.Errorf("%+v, %+v, %v", self, first, err)
	}
	self.Start = first.Start
	if _, err := serve.Identify(1 << 30); err == nil || self.Alive() || (serve.Process{}).Alive() {
		t.Errorf("what is not there is alive; %v", err)
	}
}
