package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/smol-machines/smol-go/mcpserver"
)

// serveStdio serves one client until the end of its input, until nobody reads the output any more, or until a signal.
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
		// The server knows how much time is left.
		err = errors.Join(err, srv.Close(context.WithoutCancel(ctx)))
	}()
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	defer watchReader(p.stdout, func() {
		log.Info("nobody reads the output any more")
		leave()
	})()
	defer keepStreams()()
	return srv.Serve(ctx, mcpserver.Stdio(p.stdin, p.stdout))
}

// keepStreams keeps standard output for the protocol: until the function that it returns is called, what other code in this process prints to
// os.Stdout goes to standard error. The protocol has been given the true one before.
//
// It also keeps this process alive, to its end, when a client goes away that read the output or the log. A write to those streams would be a SIGPIPE, which
// ends a program before its machines are deleted; as a signal that somebody is notified of, it becomes an error of the write.
func keepStreams() func() {
	// Not signal.Ignore, which the programs that are started would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	stdout := os.Stdout
	os.Stdout = os.Stderr
	return func() { os.Stdout = stdout }
}
