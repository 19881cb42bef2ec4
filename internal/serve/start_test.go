//go:build linux || darwin

package serve_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/serve"
	"github.com/smol-machines/smol-go/smol"
)

// refused takes a lease that must fail, and checks what the error says.
func refused(t *testing.T, c *serve.Config, want error, message, hint string) {
	t.Helper()
	l := newLease(c)
	defer closeLease(t, l)
	_, err := l.Get(t.Context())
	checkError(t, err, want, message, hint)
}

func checkError(t *testing.T, err, want error, message, hint string) {
	t.Helper()
	var e *smol.Error
	var dial *net.OpError
	if !errors.Is(err, want) || !errors.As(err, &e) || !errors.As(err, &dial) || dial.Op != "dial" {
		t.Fatalf("got %v, want one that is %v, and tells that nothing was sent", err, want)
	}
	if !strings.Contains(e.Message, message) || !strings.Contains(e.Hint, hint) {
		t.Errorf("got %q, hint %q; want %q, %q", e.Message, e.Hint, message, hint)
	}
}

// TestStart looks at what a start leaves on the disk and hands to the serve.
func TestStart(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SMOL_CLOUD_TOKEN=canary", "SMOLVM_REGISTRY_TOKEN=canary", "AWS_SECRET_ACCESS_KEY=canary", "XDG_DATA_HOME=/kept")
	l := newLease(p.config())
	u := get(t, l)
	if u.Version != "1.14.5" || !u.Ours() {
		t.Errorf("uses %+v", u)
	}
	for name, want := range map[string]fs.FileMode{"": fs.ModeDir | 0o700, "serve.pid": 0o600, "serve.log": 0o600} {
		if info, err := os.Stat(filepath.Join(p.run, name)); err != nil || info.Mode() != want {
			t.Errorf("%q has the mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	p.recorded(u)
	b, err := os.ReadFile(filepath.Join(p.dir, "environ"))
	if err != nil || bytes.Contains(b, []byte("canary")) || !bytes.Contains(b, []byte("XDG_DATA_HOME=/kept")) {
		t.Errorf("the environment of the serve is %s, %v", b, err)
	}
	closeLease(t, l)
	p.clean()
}

// recorded checks that u is on record, with this program as its owner.
func (p *place) recorded(u *serve.Use) {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.run, "serve.pid"))
	if err != nil {
		p.t.Fatal(err)
	}
	if pid, owner, url, err := serve.ParseRecord(b); err != nil || pid != u.Process.PID || owner != os.Getpid() || url != u.URL {
		p.t.Errorf("on record is %s, %v", b, err)
	}
}

// TestLogRotates starts five serves, one after another, and wants the logs of the newest four.
func TestLogRotates(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SMOLVM_TEST_MODE=fails")
	for range 5 {
		refused(t, p.config(), serve.ErrNotServed, "exit status 3: Error: the database is of a later release", "serve.log")
	}
	p.began(5) // one for each call: nothing is tried again, and nothing remembered
	logs, err := filepath.Glob(filepath.Join(p.run, "serve.log*"))
	if err != nil || len(logs) != 4 {
		t.Errorf("the logs are %v, %v", logs, err)
	}
	p.clean()
}

func TestStartTimeOut(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SMOLVM_TEST_MODE=hangs")
	c := p.config()
	c.StartTimeout = 300 * time.Millisecond
	refused(t, c, serve.ErrNotServed, "did not answer within 300ms", "more time")
	p.clean()
}

// TestStubborn stops a serve that does not listen to reason.
func TestStubborn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SMOLVM_TEST_MODE=stubborn")
	c := p.config()
	c.StopTimeout = 100 * time.Millisecond
	l := newLease(c)
	get(t, l)
	closeLease(t, l)
	p.began(1)
	p.clean()
}

func TestTooOld(t *testing.T) {
	t.Parallel()
	told := newPlace(t, `SMOLVM_TEST_VERSION=smolvm 1.13.9\n`)
	refused(t, told.config(), serve.ErrTooOld, `smolvm "1.13.9", and 1.14.0 is the oldest`, "install smolvm 1.14.0")
	told.began(0)

	// This one tells only when it runs.
	p := newPlace(t, "SMOLVM_TEST_VERSION=", "SMOLVM_TEST_RELEASE=1.13.9")
	refused(t, p.config(), serve.ErrTooOld, `smolvm "1.13.9"`, "install")
	p.began(1)
	p.clean()
	c := p.config()
	c.MinVersion = ""
	l := newLease(c)
	get(t, l)
	refused(t, p.config(), serve.ErrTooOld, "api.sock is smolvm", "install") // in use by the other
	closeLease(t, l)
	p.began(2)
	p.clean()
}

// TestProgram is about what keeps a start from being tried.
func TestProgram(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	old := newPlace(t, `SMOLVM_TEST_VERSION=smolvm 1.14.5\n`)
	broken := p.write("broken", 0o600, "")
	for name, tt := range map[string]struct {
		p             *place
		program, kvm  string
		message, hint string
	}{
		"path":    {p, filepath.Join(p.dir, "gone"), "", "gone does not exist", "SMOL_LOCAL_URL"},
		"name":    {p, "smolvm-that-is-nowhere", "", "smolvm-that-is-nowhere is not on the PATH", "install smolvm"},
		"mode":    {p, broken, "", "broken cannot be executed", "install smolvm"},
		"kvm":     {old, "", filepath.Join(p.dir, "kvm"), "this host has no " + filepath.Join(p.dir, "kvm"), "virtualization"},
		"without": {p, "", filepath.Join(p.dir, "kvm"), "", ""},
		"with":    {old, "", "/dev/null", "", ""},
	} {
		c := tt.p.config()
		if c.KVM = tt.kvm; tt.program != "" {
			c.Program = tt.program
		}
		err := serve.New(c).Check(t.Context())
		if tt.message == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		checkError(t, err, serve.ErrNotServed, tt.message, tt.hint)
		refused(t, c, serve.ErrNotServed, tt.message, tt.hint)
	}
	p.began(0)
	old.began(0)
	if err := serve.New(p.config()).Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPortTaken wants nothing started beside another serve.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	p := newPlace(t, "SMOLVM_GUEST_ROLLOUT_HOST_PORT="+port)
	other, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, p.config(), serve.ErrNotServed, "port "+port+" is taken", "SMOL_LOCAL_URL")
	p.began(0)
	_ = other.Close()
	for deadline := time.Now().Add(time.Minute); !isFree(port) && time.Now().Before(deadline); {
		<-time.After(time.Millisecond) // what another test forked still holds it
	}
	l := newLease(p.config()) // it is not remembered
	get(t, l)
	closeLease(t, l)
	p.clean()

	p.env = append(p.env, "SMOLVM_GUEST_ROLLOUT_HOST_PORT=none")
	refused(t, p.config(), serve.ErrNotServed, `is "none", not a port`, "between 1 and 65535")
}

// TestTCP is how it is where smolvm has no Unix sockets: a free port is found, and the record tells others.
func TestTCP(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tcp := func() *serve.Config {
		c := p.config()
		c.OwnURL = ""
		return c
	}
	a, b := newLease(tcp()), newLease(tcp())
	u := get(t, a)
	if !strings.HasPrefix(u.URL, "http://127.0.0.1:") {
		t.Errorf("it listens at %s", u.URL)
	}
	if err := serve.New(tcp()).Check(t.Context()); err != nil {
		t.Error(err)
	}
	if other := get(t, b); other.URL != u.URL || other.Process != u.Process {
		t.Errorf("the other one uses %+v, not %+v", other, u)
	}
	p.began(1)
	closeLease(t, a)
	closeLease(t, b)
	p.clean()
}
