package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/simtest"
)

func (r *wireRun) directive(d []string) {
	t := r.t
	path := func(i int) string { return filepath.Join(r.tmp, d[i]) }
	var err error
	switch strings.Join(append(slices.Clone(d[:1]), strconv.Itoa(len(d))), " ") {
	case "version 2":
		r.opts.Version = d[1]
	case "guest 2":
		r.opts.Guest = wireGuest(t, d[1])
	case "only 2":
	case "dir 2":
		err = os.Mkdir(path(1), 0o755)
	case "file 2":
		err = os.WriteFile(path(1), nil, 0o644)
	case "link 3":
		err = os.Symlink(d[2], path(1))
	case "busy 1":
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			t.Cleanup(func() { l.Close() })
			_, r.vars["busyport"], err = net.SplitHostPort(l.Addr().String())
		}
	case "option 3":
		err = r.option(d[1], d[2])
	default:
		t.Fatalf("there is no directive %q", d)
	}
	if err != nil {
		t.Fatalf("%q: %v", d, err)
	}
}

func (r *wireRun) option(name, value string) error {
	d, err := time.ParseDuration(value)
	switch name {
	case "Supervisor":
		r.opts.Supervisor = d
	case "Timeout":
		r.opts.Timeout = d
	case "KeepAlive":
		r.opts.KeepAlive = d
	case "Probe":
		r.opts.Probe = d
	case "RestartUnit":
		r.opts.RestartUnit = d
	case "Grace":
		r.opts.Grace = d
	default:
		return fmt.Errorf("there is no option %s", name)
	}
	return err
}

// wireGuest returns the guest of a directive.
func wireGuest(t *testing.T, name string) sim.Guest {
	if name != "sandbox" {
		t.Fatalf("there is no guest %q", name)
	}
	return simtest.Sandbox(t)
}

// act does one action.
func (r *wireRun) act(words []string) error {
	var err error
	switch verb := words[0]; {
	case verb == "restart" && len(words) == 1:
		r.server.Close()
		<-r.done
		r.start()
	case verb == "crash" && len(words) == 1:
		r.server.KillAll()
	case verb == "hang-up" && len(words) == 1:
		r.hangUp()
	case verb == "remove" && len(words) == 2:
		err = os.RemoveAll(filepath.Join(r.tmp, words[1]))
	case verb == "record" && len(words) == 2:
		err = r.server.AddRecord(words[1], "")
	case verb == "await" && len(words) == 3:
		err = r.await("/api/v1/machines/"+words[1], `{"state":"`+words[2]+`","...":"..."}`)
	case verb == "await-logs" && len(words) == 2:
		err = r.await("/api/v1/machines/"+words[1]+"/logs?follow=true", "")
	case verb == "console" && len(words) == 3:
		err = r.write(words[1], words[2], os.O_TRUNC)
	case verb == "console-append" && len(words) == 3:
		err = r.write(words[1], words[2], os.O_APPEND)
	case verb == "console-lines" && len(words) == 4:
		lines, _ := strconv.Atoi(words[2])
		width, _ := strconv.Atoi(words[3])
		err = os.WriteFile(r.console(words[1]), bytes.Repeat([]byte(strings.Repeat("x", width)+"\n"), lines), 0o600)
	case verb == "no-console" && len(words) == 3:
		var log []byte
		if log, err = os.ReadFile(r.console(words[1])); err == nil && bytes.Contains(log, []byte(words[2])) {
			err = fmt.Errorf("the console still has %q", words[2])
		}
	default:
		err = errors.New("there is no such action")
	}
	return err
}

// write writes to a machine's console; \n and \r in the text are what they are in Go.
func (r *wireRun) write(machine, text string, how int) error {
	f, err := os.OpenFile(r.console(machine), os.O_WRONLY|how, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(text))
	return errors.Join(err, f.Close())
}

// console returns the file with a machine's console (1.5: each machine's directory has a file with its name).
func (r *wireRun) console(machine string) string {
	names, _ := filepath.Glob(filepath.Join(r.opts.DataDir, "vms", "*", "name"))
	for _, n := range names {
		if b, err := os.ReadFile(n); err == nil && string(b) == machine {
			return filepath.Join(filepath.Dir(n), "console.log")
		}
	}
	r.t.Fatalf("no directory of machine %s", machine)
	return ""
}

// await asks until the answer is 200, with that body if one is given.
func (r *wireRun) await(path, body string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	s := wireStep{kind: "request", reply: wireReply{status: "200", body: body, checkBody: true}}
	if body == "" {
		s.kind = "open"
	}
	var last error
	for deadline := time.Now().Add(wireDeadline); time.Now().Before(deadline); <-tick.C {
		if last = r.exchange(s, "GET "+path+" HTTP/1.1\n"); last == nil {
			return nil
		}
	}
	return fmt.Errorf("in vain: %w", last)
}
