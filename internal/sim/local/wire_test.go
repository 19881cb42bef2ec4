package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/internal/sim/script"
	"github.com/smol-machines/smol-go/internal/simtest"
	"github.com/smol-machines/smol-go/internal/wiretest"
)

var wireSuite = wiretest.Suite{Dir: "../../../testdata/wire", Least: 250, New: newWireService}

// TestWire replays the transcripts of the contract over a raw socket, without this project's client and without net/http's.
func TestWire(t *testing.T) { wireSuite.Replay(t) }

// TestWireSections holds that every section of the contract has a transcript or a reason for having none.
func TestWireSections(t *testing.T) { wireSuite.Sections(t) }

// wireService is the server of one transcript.
type wireService struct {
	*wiretest.Run
	opts   local.Options
	server *local.Server
	done   chan error
	socket string
	trace  map[string]bool
}

func newWireService(r *wiretest.Run) wiretest.Service {
	return &wireService{
		Run: r, socket: filepath.Join(r.Dir, "s"), trace: map[string]bool{},
		opts: local.Options{DataDir: filepath.Join(r.Dir, "data"), Supervisor: -1, Guest: script.New(nil)},
	}
}

func (s *wireService) Start() error {
	server, err := local.New(&s.opts)
	if err != nil {
		return err
	}
	l, err := listen(&s.socket)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	s.server, s.done = server, make(chan error, 1)
	clear(s.trace) // the next server counts anew, and here in the same process
	go func() { s.done <- server.Serve(l) }()
	return nil
}

func (s *wireService) Stop() {
	s.server.KillAll()
	s.server.Close()
	<-s.done
}

func (s *wireService) Dial() (net.Conn, error) { return dial(context.Background(), s.socket) }

func (*wireService) Headers() [][2]string { return nil }

// Check wants a trace id of its own and the vary header in every reply but one to OPTIONS.
func (s *wireService) Check(method string, a *wiretest.Answer) error {
	if method == "OPTIONS" {
		return nil
	}
	id := a.Header("x-trace-id")
	if s.trace[id] {
		return fmt.Errorf("the trace id %s comes twice", id)
	}
	s.trace[id] = true
	if len(id) == 16 && id[8:] != fmt.Sprintf("%08x", os.Getpid()) {
		return fmt.Errorf("the trace id %s does not end in the process id", id)
	}
	return errors.Join(a.Match("x-trace-id", "{{hex16}}"), a.Match("vary", "{{text}}"))
}

func (s *wireService) Directive(d []string) error {
	switch {
	case d[0] == "version" && len(d) == 2:
		s.opts.Version = d[1]
	case d[0] == "guest" && len(d) == 2 && d[1] == "sandbox":
		s.opts.Guest = simtest.Sandbox(s.TB)
	case d[0] == "option" && len(d) == 3:
		return wiretest.SetOption(&s.opts, d[1], d[2])
	default:
		return wiretest.ErrUnknown
	}
	return nil
}

func (s *wireService) Act(words []string) error {
	switch verb := words[0]; {
	case verb == "restart" && len(words) == 1:
		s.server.Close()
		<-s.done
		return s.Start()
	case verb == "crash" && len(words) == 1:
		s.server.KillAll()
		return nil
	case verb == "record" && len(words) == 2:
		return s.server.AddRecord(words[1], "")
	case verb == "await" && len(words) == 3:
		return s.Await("/api/v1/machines/"+words[1], `{"state":"`+words[2]+`","...":"..."}`)
	case verb == "await-logs" && len(words) == 2:
		return s.Await("/api/v1/machines/"+words[1]+"/logs?follow=true", "")
	default:
		return s.actOnConsole(words)
	}
}

// actOnConsole does the actions on a machine's console.
func (s *wireService) actOnConsole(words []string) error {
	switch verb := words[0]; {
	case verb == "console" && len(words) == 3:
		return s.write(words[1], words[2], os.O_TRUNC)
	case verb == "console-append" && len(words) == 3:
		return s.write(words[1], words[2], os.O_APPEND)
	case verb == "console-lines" && len(words) == 4:
		lines, err := strconv.Atoi(words[2])
		width, err2 := strconv.Atoi(words[3])
		text := bytes.Repeat([]byte(strings.Repeat("x", width)+"\n"), lines)
		return errors.Join(err, err2, os.WriteFile(s.console(words[1]), text, 0o600))
	case verb == "no-console" && len(words) == 3:
		log, err := os.ReadFile(s.console(words[1]))
		if err == nil && bytes.Contains(log, []byte(words[2])) {
			err = fmt.Errorf("the console still has %q", words[2])
		}
		return err
	default:
		return wiretest.ErrUnknown
	}
}

// write writes to a machine's console; \n and \r in the text are what they are in Go.
func (s *wireService) write(machine, text string, how int) error {
	f, err := os.OpenFile(s.console(machine), os.O_WRONLY|how, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(text))
	return errors.Join(err, f.Close())
}

// console returns the file with a machine's console (1.5: each machine's directory has a file with its name).
func (s *wireService) console(machine string) string {
	names, _ := filepath.Glob(filepath.Join(s.opts.DataDir, "vms", "*", "name"))
	for _, n := range names {
		if b, err := os.ReadFile(n); err == nil && string(b) == machine {
			return filepath.Join(filepath.Dir(n), "console.log")
		}
	}
	s.TB.Fatalf("no directory of machine %s", machine)
	return ""
}
