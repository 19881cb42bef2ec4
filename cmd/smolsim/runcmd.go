package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/host"
	"github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

// These variables tell the command where its servers are, and the key of the cloud; the library reads them.
const (
	urlVariable   = "SMOL_LOCAL_URL"
	cloudVariable = "SMOL_CLOUD_URL"
	tokenVariable = "SMOL_CLOUD_TOKEN"
)

// Exit codes for commands that do not run, as env has them, and what is added to the number of the signal that ended one, as shells do.
const (
	exitCannot   = 126
	exitNotFound = 127
	exitSignal   = 128
)

// runCommand runs a command beside servers of its own, which are gone with all they made when the command has ended.
func runCommand(ctx context.Context, p *program, args []string) (code int, err error) {
	flags := p.flags("run")
	keep := flags.Bool("keep", false, "leave the files of the machines and say where they are")
	withCloud := flags.Bool("cloud", false, "give the command a cloud as well")
	if err := p.parse(flags, args); err != nil {
		return exitUsage, err
	}
	argv := flags.Args()
	if len(argv) == 0 {
		return exitUsage, usagef("a command is missing: smolsim run -- CMD ARGS...")
	}
	g := sandbox.New(nil)
	if err := g.Supported(); err != nil {
		return exitError, err
	}
	signals := make(chan os.Signal, 64)
	notify(signals)
	defer signal.Stop(signals)
	w, err := startWitness()
	if err != nil {
		return exitError, err
	}
	defer w.end()
	servers, err := startServers(g, *withCloud)
	if err != nil {
		return exitError, err
	}
	select {
	case s := <-signals: // the group's, too: the command is not there to get it
		code = exitSignal + int(signalNumber(s))
	default:
		code, err = p.child(ctx, argv, servers.env, signals, w)
	}
	return code, errors.Join(err, servers.end(p, *keep))
}

// servers are what a command has beside it.
type servers struct {
	hosts []interface {
		Dir() string
		Stop() error
		Close() error
	}
	env []string
}

// startServers starts the local service, and the cloud if that is wanted.
func startServers(g sim.Guest, withCloud bool) (*servers, error) {
	h, err := host.Start(&host.Options{Server: local.Options{Guest: g}, TCP: runtime.GOOS == "windows"})
	if err != nil {
		return nil, err
	}
	s := &servers{env: []string{urlVariable + "=" + h.URL()}}
	s.hosts = append(s.hosts, h)
	if !withCloud {
		return s, nil
	}
	token := cloud.NewToken()
	c, err := host.StartCloud(&host.CloudOptions{Server: cloud.Options{Guest: g, Token: token}})
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	s.hosts = append(s.hosts, c)
	s.env = append(s.env, cloudVariable+"="+c.URL(), tokenVariable+"="+token)
	return s, nil
}

// end ends the servers and all they made, and removes their files unless they are to be kept.
func (s *servers) end(p *program, keep bool) error {
	var err error
	for _, h := range s.hosts {
		if keep {
			fmt.Fprintf(p.stderr, "smolsim: kept %s\n", h.Dir())
			err = errors.Join(err, h.Stop())
			continue
		}
		err = errors.Join(err, h.Close())
	}
	return err
}

// child runs argv to its end and hands it the signals that this process gets, but for those that it gets itself.
func (p *program) child(ctx context.Context, argv, env []string, signals <-chan os.Signal, w *witness) (int, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.stdin, p.stdout, p.stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(p.stderr, "smolsim: %v\n", err)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return exitNotFound, nil
		}
		return exitCannot, nil
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if !w.saw(s) {
				_ = cmd.Process.Signal(s) // it may just have ended
			}
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return exitError, err
			}
			return exitCode(cmd.ProcessState), nil
		}
	}
}
