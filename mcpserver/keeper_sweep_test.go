package mcpserver_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/internal/ledger"
	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
)

// Sessions of programs that are gone, and of one that is not.
const gone, goneToo, alive = "000000aa", "000000bb", "000000cc"

// left is a host on which programs have left something, and the fleets they used.
type left struct {
	*testing.T
	record       *ledger.Ledger
	local, cloud *memory
	log          bytes.Buffer
	host, dir    string
}

func newLeft(t *testing.T) *left {
	l := &left{T: t, dir: filepath.Join(t.TempDir(), "run"), local: newMemory("local"), cloud: newMemory("cloud")}
	l.record = ledger.New(l.dir)
	var err error
	if l.host, err = l.record.Host(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// add puts a machine on the record of a session.
func (l *left) add(name, session, service string) ledger.Entry {
	l.Helper()
	now := time.Now().Unix()
	e := ledger.Entry{Name: name, Session: session, Service: service, Since: now, Asked: now}
	if err := l.record.Add(l.Context(), e); err != nil {
		l.Fatal(err)
	}
	return e
}

// machine is one of the cloud, with the labels of a session.
func (l *left) machine(name, host, session string) {
	l.cloud.add(&smol.Info{Name: name, Labels: map[string]string{"smol-mcp-host": host, "smol-mcp-session": session}})
}

// next starts a server as the next program does; the function it returns ends it.
func (l *left) next() func() {
	l.Helper()
	cfg := mcpserver.DefaultConfig()
	cfg.Targets, cfg.CloudToken, cfg.RuntimeDir = "both", "key", l.dir
	srv, err := mcpserver.New(&mcpserver.Options{
		Config: cfg, Logger: slog.New(slog.NewTextHandler(&l.log, nil)),
		Local: mcpserver.FixedFleet(smol.NewFleet(l.local)), Cloud: mcpserver.FixedFleet(smol.NewFleet(l.cloud)),
	})
	if err != nil {
		l.Fatal(err)
	}
	in, client := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l.Context(), mcpserver.Stdio(in, io.Discard)) }()
	return func() {
		l.Helper()
		client.Close()
		if err := errors.Join(<-served, srv.Close(l.Context())); err != nil {
			l.Error(err)
		}
	}
}

func (l *left) is(when string, local, cloud []string) {
	l.Helper()
	synctest.Wait()
	if got := l.local.names(); !slices.Equal(got, local) {
		l.Errorf("%s: local machines %v, want %v", when, got, local)
	}
	if got := l.cloud.names(); !slices.Equal(got, cloud) {
		l.Errorf("%s: cloud machines %v, want %v", when, got, cloud)
	}
}

// TestSweep deletes what a program that is gone has left, looks again after a minute, and leaves everything else alone.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeft(t)
		held, err := l.record.Begin(t.Context(), alive)
		if err != nil {
			t.Fatal(err)
		}
		defer held.End()
		now := time.Now()
		for name, session := range map[string]string{"mcp-dead": gone, "mcp-live": alive, "mcp-late": goneToo, "mcp-older": gone, "mcp-shared": gone} {
			l.add(name, session, "")
		}
		l.add("mcp-shared", alive, "")
		elsewhere := l.add("mcp-elsewhere", gone, "http://127.0.0.1:1")
		for name, at := range map[string]time.Time{
			"mcp-dead": now, "mcp-live": now, "mcp-older": now.Add(-time.Minute), "mcp-shared": now, "mcp-elsewhere": now, "mcp-unknown": now, "named": now,
		} {
			l.local.add(&smol.Info{Name: name, CreatedAt: at})
		}
		l.machine("mcp-dead", l.host, gone)
		l.machine("mcp-live", l.host, alive)
		l.machine("mcp-foreign", "0123456789abcdef", gone)
		l.machine("mcp-odd", l.host, "../machines")
		l.machine("branch-of-dead", l.host, gone)
		l.cloud.add(&smol.Info{Name: "mcp-plain"})
		localOthers := []string{"mcp-elsewhere", "mcp-live", "mcp-older", "mcp-shared", "mcp-unknown", "named"}
		cloudOthers := []string{"branch-of-dead", "mcp-foreign", "mcp-live", "mcp-odd", "mcp-plain"}

		end := l.next()
		l.is("at the start", localOthers, cloudOthers)
		time.Sleep(30 * time.Second)
		l.local.add(&smol.Info{Name: "mcp-late", CreatedAt: time.Now()})
		l.machine("mcp-late", l.host, goneToo)
		l.is("before the minute", slices.Sorted(slices.Values(append(localOthers, "mcp-late"))), slices.Sorted(slices.Values(append(cloudOthers, "mcp-late"))))
		time.Sleep(31 * time.Second)
		l.is("after a minute", localOthers, cloudOthers)
		end()
		all, err := l.record.Entries()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if e.Session != alive && e != elsewhere && e.Name != "mcp-shared" {
				t.Errorf("still on record: %+v", e)
			}
		}
		if !strings.Contains(l.log.String(), "mcp-dead") || strings.Contains(l.log.String(), "level=ERROR") {
			t.Errorf("the log does not tell what was deleted, or of errors:\n%s", &l.log)
		}
	})
}

// TestSweepFails keeps what could not be deleted on record for the next start, and cannot read.
func TestSweepFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeft(t)
		l.add("mcp-a", gone, "")
		l.local.add(&smol.Info{Name: "mcp-a", CreatedAt: time.Now()})
		l.machine("mcp-a", l.host, gone)
		refused := &smol.Error{Code: smol.CodeInternal, Message: "the disk is stuck"}
		l.local.refuse["mcp-a"], l.cloud.refuse["mcp-a"] = refused, refused
		end := l.next()
		time.Sleep(2 * time.Minute)
		end()
		l.is("refused", []string{"mcp-a"}, []string{"mcp-a"})
		if !strings.Contains(l.log.String(), "the disk is stuck") {
			t.Errorf("nothing is told:\n%s", &l.log)
		}
		clear(l.local.refuse)
		clear(l.cloud.refuse)

		path := filepath.Join(l.dir, "machines.json")
		record, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, record[:len(record)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		end = l.next()
		l.is("a record that is cut", []string{"mcp-a"}, nil)
		end()
		if !strings.Contains(l.log.String(), "machines.json cannot be read") {
			t.Errorf("nothing is told:\n%s", &l.log)
		}
		if err := os.WriteFile(path, record, 0o600); err != nil {
			t.Fatal(err)
		}
		end = l.next()
		l.is("the next start", nil, nil)
		end()
	})
}

// TestSweepNothing asks no fleet on a host where nothing was left.
func TestSweepNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeft(t)
		l.dir = filepath.Join(t.TempDir(), "other")
		end := l.next()
		time.Sleep(2 * time.Minute)
		end()
		if l.local.asked+l.cloud.asked > 0 {
			t.Errorf("the fleets were asked %d and %d times", l.local.asked, l.cloud.asked)
		}
		if _, err := os.Stat(l.dir); err == nil {
			t.Error("a directory was made")
		}
	})
}
