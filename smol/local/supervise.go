package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/internal/serve"
	"github.com/smol-machines/smol-go/smol"
)

// Sentinels for errors.Is, of the services of a [Supervisor].
var (
	// ErrNotServed: no service is there and none can be started; the error's Message says why and its Hint what to do.
	ErrNotServed = serve.ErrNotServed
	// ErrTooOld: the release of smolvm is older than [ServeOptions].MinVersion.
	ErrTooOld = serve.ErrTooOld
)

// The defaults of ServeOptions.
const (
	defaultServeStart = time.Minute
	defaultServeStop  = 7 * time.Second // smolvm waits 5 for the requests in flight
)

// ServeOptions say where a [Supervisor] looks for a service, and what it starts if there is none. Nil and the zero value start smolvm from the
// PATH and look nowhere but in the runtime directory; [ServeOptionsFromEnv] looks where smolvm listens by default, too. They are
// copied by Supervise.
type ServeOptions struct {
	// Program is smolvm: a name that is looked for on the PATH, or a path. Empty: smolvm.
	Program string
	// URL is where a service is looked for first, in any form that [Options].URL takes. Empty: nowhere.
	URL string
	// Adopt is where a service is looked for last, before one is started, in any form that [Options].URL takes.
	Adopt []string
	// Dir is the runtime directory, for the socket, the log and the record of the serve; programs that name the same one share its serve. It is made
	// with mode 0700; one that exists must have that and belong to this user. Empty: smol-mcp-<uid> in the system's directory for temporary files; on
	// Windows, smol-mcp in the user's cache directory, %LocalAppData%.
	Dir string
	// Env is the environment from which that of the serve is chosen: PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_ALL, TZ, TMPDIR, XDG_*, SMOLVM_*,
	// what Windows needs, and nothing whose name ends as a secret's does. Nil: this program's.
	Env []string
	// MinVersion is the oldest release of smolvm that is used, such as "1.14.0". Empty: any.
	MinVersion string
	// StartTimeout is how long a serve may take from its start to its first answer. Zero: one minute.
	StartTimeout time.Duration
	// StopTimeout is how long a serve may take to end before it is killed. Zero: 7 seconds.
	StopTimeout time.Duration
	// Log is told of starts, of stops, and of sockets that were passed over. Nil: nobody is.
	Log *slog.Logger
	// Wrap, if it is not nil, is given the transport of each service and returns the one to use.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Supervisor finds the service of this host or starts one, shares it with the other programs of this user, and stops it when the last of
// them lets go. It is safe for concurrent use. It holds nothing itself, so it has no Close; its services have.
//
// A service is looked for at ServeOptions.URL, in the runtime directory and at ServeOptions.Adopt, and the first is used that answers and whose
// process is this user's or root's. One that others started, and that is not of the runtime directory, is never stopped. Nothing is started
// while a port or a socket tells that another serve runs: a second one on the same data would stop the machines of the first.
type Supervisor struct {
	s    *serve.Supervisor
	wrap func(http.RoundTripper) http.RoundTripper
	name string // of the endpoint, for the limits that services share
}

// Supervise returns a supervisor; nil means the defaults. It does no I/O but to see where this program is. An error matches [smol.ErrInvalid].
func Supervise(o *ServeOptions) (*Supervisor, error) {
	if o == nil {
		o = &ServeOptions{}
	}
	c, err := o.config()
	if err != nil {
		return nil, err
	}
	return &Supervisor{s: serve.New(c), wrap: o.Wrap, name: "smolvm serve in " + c.Dir}, nil
}

// Service returns a service that is found or started by the first call that needs it, and is looked for again by a call that finds it gone. A
// call that fails since there is none has sent nothing; it matches [ErrNotServed] or [ErrTooOld], and the next call looks again. What starts
// a service is bounded by ServeOptions.StartTimeout; the context of a call bounds only its wait.
//
// The serve is stopped when the last service is closed, so close it after the last machine was deleted.
func (s *Supervisor) Service() *Service {
	lease := s.s.Lease()
	b := newBackend((&seeker{lease}).dial, &url.URL{Scheme: "http", Host: "localhost"}, s.name, s.wrap)
	return &Service{Fleet: smol.NewFleet(b), backend: b, lease: lease}
}

// Check reports why there is no service on this host and none can be started, without starting one and without waiting for one. Nil means that
// one answers, or that nothing is known to keep one from being started. An error matches [ErrNotServed] or [ErrTooOld], or is ctx's.
func (s *Supervisor) Check(ctx context.Context) error {
	return rest.Describe(s.s.Check(ctx), "check", "")
}

// config checks o and translates it.
func (o *ServeOptions) config() (*serve.Config, error) {
	c := &serve.Config{
		Program: o.Program, Env: o.environ(), MinVersion: o.MinVersion, Probe: probe, Log: o.Log,
		StartTimeout: o.StartTimeout, StopTimeout: o.StopTimeout,
	}
	if c.Program == "" {
		c.Program = "smolvm"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if runtime.GOOS == "linux" {
		c.KVM = "/dev/kvm"
	}
	for field, d := range map[string]*time.Duration{"StartTimeout": &c.StartTimeout, "StopTimeout": &c.StopTimeout} {
		if *d < 0 {
			return nil, invalidServe(field, "is negative")
		}
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = defaultServeStart
	}
	if c.StopTimeout == 0 {
		c.StopTimeout = defaultServeStop
	}
	if _, ok := serve.ParseVersion(o.MinVersion); !ok && o.MinVersion != "" {
		return nil, invalidServe("MinVersion", "is %.40q, not a release such as 1.14.0", o.MinVersion)
	}
	if err := o.places(c); err != nil {
		return nil, err
	}
	return c, nil
}

// places checks and translates where services are looked for.
func (o *ServeOptions) places(c *serve.Config) error {
	if o.URL != "" {
		e, err := parseEndpoint(o.URL, runtime.GOOS)
		if err != nil {
			return err
		}
		c.URL = e.url
	}
	for i, raw := range o.Adopt {
		e, err := parseEndpoint(raw, runtime.GOOS)
		if err != nil {
			return invalidServe(fmt.Sprintf("Adopt[%d]", i), "cannot be used: %w", err)
		}
		c.Adopt = append(c.Adopt, e.url)
	}
	dir := o.Dir
	if dir == "" {
		dir = runtimeDir(runtime.GOOS, func(string) string { return "" }, os.TempDir(), userCache(), os.Getuid())
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return invalidServe("Dir", "cannot be made absolute: %w", err)
	}
	if c.Dir = dir; runtime.GOOS == "windows" {
		return nil
	}
	e, err := parseEndpoint("unix://"+filepath.Join(dir, "api.sock"), runtime.GOOS)
	if err != nil {
		return invalidServe("Dir", "cannot be used: %w", err)
	}
	c.OwnURL = e.url
	return nil
}

func invalidServe(field, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &smol.Error{Code: smol.CodeInvalid, Message: "ServeOptions." + field + " " + err.Error(), Err: err}
}

// probe asks the service at url for its release.
func probe(ctx context.Context, url string) (string, error) {
	d, err := direct(url, defaultDialTimeout)
	if err != nil {
		return "", err
	}
	b := newBackend(d.dial, d.base(), d.url, nil)
	defer func() { _ = b.Close() }()
	h, err := b.Health(ctx)
	if err != nil {
		return "", err
	}
	if h.Status != "ok" {
		return "", &smol.Error{Op: "health", Code: smol.CodeUnavailable, Message: fmt.Sprintf("the service says that it is %.40q", h.Status)}
	}
	return h.Version, nil
}

// direct is a dialer that does not wait and looks at who accepts.
func direct(url string, timeout time.Duration) (*dialer, error) {
	e, err := parseEndpoint(url, runtime.GOOS)
	if err != nil {
		return nil, err
	}
	return &dialer{endpoint: *e, timeout: timeout, window: -1, check: serve.CheckPeer}, nil
}

// seeker dials whatever service is in use.
type seeker struct{ lease *serve.Lease }

// dial connects, as http.Transport.DialContext. A service that has gone is looked for once more.
func (s *seeker) dial(ctx context.Context, network, address string) (net.Conn, error) {
	for again := false; ; again = true {
		u, err := s.lease.Get(ctx)
		if err != nil {
			return nil, err
		}
		d, err := direct(u.URL, defaultDialTimeout)
		if err != nil {
			return nil, err
		}
		c, err := d.dial(ctx, network, address)
		if err == nil || ctx.Err() != nil || !serve.Absent(err) && !errors.Is(err, serve.ErrForeign) {
			return c, err
		}
		s.lease.Lost(u)
		if again {
			return nil, err
		}
	}
}
