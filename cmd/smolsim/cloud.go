package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/fault"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

// cloudFlags are the flags of cloud that are not those of the stand-in itself.
type cloudFlags struct {
	listen, tokens, dataDir, style string
	old, verbose, jsonLogs         bool
	grace                          int
	faults                         words
	machines, concurrent           int
}

// cloudOptions reads the flags of cloud.
func (p *program) cloudOptions(args []string) (*cloudFlags, *cloud.Options, error) {
	fs := p.flags("cloud")
	f, o := &cloudFlags{}, &cloud.Options{}
	fs.StringVar(&f.listen, "listen", "127.0.0.1:0", "where to serve: `IP:PORT`; port 0 is a free one")
	fs.StringVar(&f.tokens, "token-file", "", tokenHelp)
	fs.StringVar(&f.dataDir, "data-dir", "", "keep records and machines in `DIR`; without it in the directory of smolsim serve, apart")
	fs.StringVar(&f.style, "errors", string(cloud.StyleProblem), "the `SHAPE` of errors: problem, code-error, error-code, message, text or empty")
	fs.BoolVar(&f.old, "old", false, "behave as the oldest release")
	fs.StringVar(&o.DefaultNetwork, "network", "open", "the `MODE` of the network of machines that do not say: open or blocked")
	fs.IntVar(&f.machines, "max-machines", 0, "let an account hold no more than `N` machines")
	fs.IntVar(&f.concurrent, "max-concurrent", 0, "let an account run no more than `N` machines at a time")
	fs.Int64Var(&o.Credit, "credit", 0, "the credit of an account in `MICROS`, a hundred dollars if it is 0 and none if it is negative")
	fs.IntVar(&o.Rate, "rate", 0, "let an account send no more than `N` requests a minute")
	fs.IntVar(&o.FilesStatus, "files-status", 0, "have no routes for files, and answer `STATUS` to them: 404, 405 or 501")
	fs.BoolVar(&o.DetachStarts, "detach-starts", false, "answer every start before the machine boots")
	fs.BoolVar(&o.MirrorImages, "mirror-images", false, "tell images as the mirrors of the library")
	fs.DurationVar(&o.ReadyDelay, "ready-delay", 0, "make machines ready so long after their boot")
	fs.IntVar(&f.grace, "shutdown-grace", 5, "how many `SECS` to wait for requests in flight at the end, at most 3600")
	fs.BoolVar(&f.verbose, "verbose", false, "log more")
	fs.BoolVar(&f.jsonLogs, "json-logs", false, "log as JSON")
	fs.Var(&f.faults, "fault", faultHelp)
	if err := p.parse(fs, args); err != nil {
		return nil, nil, err
	}
	o.Errors = cloud.ErrorStyle(f.style)
	switch {
	case fs.NArg() > 0:
		return nil, nil, usagef("unexpected argument '%s' found", fs.Arg(0))
	case f.tokens == "":
		return nil, nil, usagef("a flag is missing: --token-file FILE")
	case f.grace < 0 || f.grace > 3600:
		return nil, nil, usagef("invalid value '%d' for '--shutdown-grace <SECS>': at most 3600", f.grace)
	case !slices.Contains(cloud.Styles(), o.Errors):
		return nil, nil, usagef("invalid value '%s' for '--errors <SHAPE>': one of %q", f.style, cloud.Styles())
	case !slices.Contains([]int{0, 404, 405, 501}, o.FilesStatus):
		return nil, nil, usagef("invalid value '%d' for '--files-status <STATUS>': 404, 405 or 501", o.FilesStatus)
	case !slices.Contains([]string{"open", "blocked"}, o.DefaultNetwork):
		return nil, nil, usagef("invalid value '%s' for '--network <MODE>': open or blocked", o.DefaultNetwork)
	}
	return f, o, p.completeCloud(f, o)
}

// completeCloud fills in what is not flags.
func (p *program) completeCloud(f *cloudFlags, o *cloud.Options) error {
	if ap, err := netip.ParseAddrPort(f.listen); err != nil || ap.Addr().IsUnspecified() {
		return usagef("invalid value '%s' for '--listen <IP:PORT>': an address of this host and a port, such as 127.0.0.1:0", f.listen)
	}
	if f.old {
		o.Old = cloud.Oldest()
	}
	plan := cloud.DefaultPlan()
	if f.machines > 0 {
		plan.MaxMachines = f.machines
	}
	if f.concurrent > 0 {
		plan.MaxConcurrentMachines = f.concurrent
	}
	o.Plan = &plan
	if f.dataDir == "" {
		dir, err := dataDir(p.getenv)
		if err != nil {
			return err
		}
		f.dataDir = filepath.Join(dir, "cloud")
	}
	o.DataDir = f.dataDir
	o.Log = p.logger(&serveOptions{verbose: f.verbose, jsonLogs: f.jsonLogs})
	keys, err := readTokens(f.tokens)
	o.Keys = keys
	return err
}

// serveCloud serves the cloud's API until it is told to end.
func serveCloud(ctx context.Context, p *program, args []string) (int, error) {
	f, o, err := p.cloudOptions(args)
	if err != nil {
		return exitUsage, err
	}
	faults, err := injector(f.faults)
	if err != nil {
		return exitUsage, err
	}
	defer faults.Close()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	o.Guest, o.Wrap = sandbox.New(nil), faults.Wrap
	s, err := cloud.New(o)
	if err != nil {
		return exitError, err
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return exitError, errors.Join(fmt.Errorf("bind %s: %s", f.listen, osError(err)), s.Close())
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	fmt.Fprintf(p.stdout, "http://%s\n", l.Addr())
	select {
	case err := <-served:
		return exitError, errors.Join(err, s.Close())
	case <-ctx.Done():
	}
	stop() // a second signal ends the wait
	return exitOK, endCloud(s, faults, time.Duration(f.grace)*time.Second)
}

// endCloud ends the server. Its machines run on.
func endCloud(s *cloud.Server, faults *fault.Injector, grace time.Duration) error {
	faults.Close()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil // after the grace the requests that were in flight have been cut off
}
