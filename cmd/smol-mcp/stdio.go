package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/smol-machines/smol-go/mcpserver"
)

// shutdownBound is how long the end of the program may take.
const shutdownBound = 10 * time.Second

// serveStdio serves one client until the end of its input or a signal.
func serveStdio(ctx context.Context, p *program, o *options) (err error) {
	cfg, err := o.config(p)
	if err != nil {
		return err
	}
	if len(cfg.MountRoots) == 0 {
		// The client started this process where its user works.
		if dir, err := os.Getwd(); err == nil {
			cfg.MountRoots = []string{dir}
		}
	}
	log := o.logger(p)
	log.Debug("configuration", "config", cfg)
	srv, err := mcpserver.New(&mcpserver.Options{Config: cfg, Logger: log})
	if err != nil {
		return err
	}
	defer func() {
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownBound)
		defer cancel()
		err = errors.Join(err, srv.Close(bound))
	}()
	defer keepStreams()()
	return srv.Serve(ctx, mcpserver.Stdio(p.stdin, p.stdout))
}

// keepStreams keeps standard output for the protocol: what anything else in this process prints goes to standard error. And a client that
// is gone is an error of a write then, and not a signal that ends this process before it has deleted its machines. The function it returns
// undoes that.
func keepStreams() func() {
	// Not Ignore: the programs that are started would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	stdout := os.Stdout
	os.Stdout = os.Stderr
	return func() { os.Stdout = stdout }
}
