package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/fault"
	"github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

// serveOptions are the flags of serve start.
type serveOptions struct {
	listen    address
	verbose   bool
	jsonLogs  bool
	grace     time.Duration
	imitate   string
	faults    *fault.Injector
	rollout   int
	dataDir   string
	drainThen bool
}

// words collects the values of a flag that may be given more than once.
type words []string

func (w *words) String() string { return strings.Join(*w, " ") }

func (w *words) Set(s string) error {
	*w = append(*w, s)
	return nil
}

// serveFlags reads the flags and the environment of serve start.
func (p *program) serveFlags(args []string) (*serveOptions, error) {
	fs := p.flags("serve start")
	o := &serveOptions{}
	var listen, seccomp, landlock string
	var origins, faults words
	grace := 5
	for _, name := range []string{"l", "listen"} {
		fs.StringVar(&listen, name, defaultListen(runtime.GOOS, p.getenv), "where to serve: `ADDR` is IP:PORT or unix://PATH")
	}
	for _, name := range []string{"v", "verbose"} {
		fs.BoolVar(&o.verbose, name, false, "log more")
	}
	fs.Var(&origins, "cors-origin", "accepted as smolvm does, without effect: `ORIGIN`")
	fs.BoolVar(&o.jsonLogs, "json-logs", false, "log as JSON")
	fs.StringVar(&seccomp, "seccomp", "enforce", "accepted as smolvm does, without effect: `MODE` enforce, audit or off")
	fs.StringVar(&landlock, "landlock", "enforce", "accepted as smolvm does, without effect: `MODE` enforce or off")
	fs.IntVar(&grace, "shutdown-grace", grace, "how many `SECS` to wait for requests in flight at the end, at most 3600")
	fs.StringVar(&o.imitate, "imitate", imitated, "which `RELEASE` of smolvm to behave as")
	fs.Var(&faults, "fault", faultHelp)
	if err := p.parse(fs, args); err != nil {
		return nil, err
	}
	o.grace = time.Duration(grace) * time.Second
	var err error
	if o.faults, err = injector(faults); err != nil {
		return nil, err
	}
	switch {
	case fs.NArg() > 0:
		return nil, usagef("unexpected argument '%s' found", fs.Arg(0))
	case !slices.Contains([]string{"enforce", "audit", "off"}, seccomp):
		return nil, usagef("invalid value '%s' for '--seccomp <MODE>'", seccomp)
	case !slices.Contains([]string{"enforce", "off"}, landlock):
		return nil, usagef("invalid value '%s' for '--landlock <MODE>'", landlock)
	case grace < 0 || grace > 3600:
		return nil, usagef("invalid value '%d' for '--shutdown-grace <SECS>': at most 3600", grace)
	}
	return o, p.serveEnv(o, listen)
}

// serveEnv completes o with what is not flags.
func (p *program) serveEnv(o *serveOptions, listen string) (err error) {
	for _, name := range []string{"SMOLVM_SERVE_TLS_CERT", "SMOLVM_SERVE_TLS_KEY", "SMOLVM_SERVE_TLS_CLIENT_CA", "SMOLVM_SERVE_REQUIRE_MTLS"} {
		if p.getenv(name) != "" {
			return fmt.Errorf("%s is set, and smolsim does not serve TLS; unset it", name)
		}
	}
	if o.listen, err = parseListen(runtime.GOOS, listen); err != nil {
		return err
	}
	if o.rollout, err = rolloutPort(p.getenv); err != nil {
		return err
	}
	if o.dataDir, err = dataDir(p.getenv); err != nil {
		return err
	}
	o.jsonLogs = o.jsonLogs || p.getenv("SMOLVM_LOG_FORMAT") == "json"
	drain := p.getenv("SMOLVM_DRAIN_ON_SHUTDOWN")
	o.drainThen = drain != "" && drain != "0" && drain != "false"
	return nil
}

// serveStart serves until it is told to end.
func serveStart(ctx context.Context, p *program, args []string) (int, error) {
	o, err := p.serveFlags(args)
	if err != nil {
		return exitUsage, err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := local.New(&local.Options{
		Guest: sandbox.New(nil), DataDir: filepath.Join(o.dataDir, "server"), Version: o.imitate, Stdout: p.stdout,
		Log: p.logger(o), Wrap: o.faults.Wrap,
	})
	if err != nil {
		return exitError, err
	}
	l, ingress, err := o.bind()
	if err != nil {
		// Smolvm loads before it binds, and a failure after that takes the machines down that it had just adopted.
		s.KillAll()
		return exitError, errors.Join(err, s.Close())
	}
	second := &http.Server{Handler: http.HandlerFunc(refuseLease), ReadHeaderTimeout: 10 * time.Second}
	go second.Serve(ingress)
	defer second.Close()
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	fmt.Fprint(p.stderr, o.listen.openToAll())
	fmt.Fprintf(p.stdout, "smolvm API server listening on %s\n", o.listen)
	select {
	case err := <-served:
		return exitError, errors.Join(err, s.Close())
	case <-ctx.Done():
	}
	stop() // a second signal ends the wait
	return exitOK, p.shutDown(s, o)
}

// shutDown ends the server as smolvm does.
func (p *program) shutDown(s *local.Server, o *serveOptions) error {
	fmt.Fprint(p.stderr, "\nShutting down server (VMs continue running)...\n")
	o.faults.Close()
	if o.drainThen {
		drain(s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.grace)
	defer cancel()
	err := s.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // the grace is over: the requests that were in flight have been cut off
	}
	return err
}

// drain stops every machine, as a request for it does.
func drain(s *local.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	if r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/drain", http.NoBody); err == nil {
		s.ServeHTTP(discard{http.Header{}}, r)
	}
}

// discard is a response that nobody reads.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// logger logs to stderr, warnings and worse unless told otherwise.
func (p *program) logger(o *serveOptions) *slog.Logger {
	h := &slog.HandlerOptions{Level: slog.LevelWarn}
	if o.verbose {
		h.Level = slog.LevelDebug
	}
	if o.jsonLogs {
		return slog.New(slog.NewJSONHandler(p.stderr, h))
	}
	return slog.New(slog.NewTextHandler(p.stderr, h))
}

// bind listens on both addresses, in the order of smolvm.
func (o *serveOptions) bind() (api, ingress net.Listener, err error) {
	second := fmt.Sprintf("127.0.0.1:%d", o.rollout)
	ingress, err = net.Listen("tcp", second)
	if err != nil {
		return nil, nil, fmt.Errorf("config operation failed: bind guest rollout ingress: %s: %s", second, osError(err))
	}
	if api, err = o.listen.bind(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("bind %s: %s", o.listen, osError(err)), ingress.Close())
	}
	return api, ingress, nil
}

// osError is a system's error as smolvm writes it.
func osError(err error) string {
	var n syscall.Errno
	if !errors.As(err, &n) {
		return err.Error()
	}
	text := n.Error()
	return fmt.Sprintf("%s%s (os error %d)", strings.ToUpper(text[:1]), text[1:], int(n))
}

// refuseLease answers on the second port, which is for workers that hold a lease; there are none here.
func refuseLease(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/api/v1/rollout-executors/") {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	fmt.Fprint(w, `{"error":"a lease token is required","code":"UNAUTHORIZED"}`)
}
