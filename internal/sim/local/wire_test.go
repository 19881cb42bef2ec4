package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/internal/sim/script"
)

const wireDir = "../../../testdata/wire"

// TestWire replays the transcripts of the contract over a raw socket, without this project's client and without net/http's.
func TestWire(t *testing.T) {
	facts, err := wireFacts(wireDir)
	if err != nil {
		t.Fatal(err)
	}
	if len(facts) < 100 {
		t.Fatalf("only %d transcripts in %s", len(facts), wireDir)
	}
	deviations, _ := wireList(t, "deviations.txt")
	for _, f := range facts {
		if system := f.system(); system != runtime.GOOS && system != "" {
			t.Logf("%s is a fact of %s", f.name, system)
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			err := replay(t, f)
			switch reason := deviations[f.name]; {
			case err != nil && reason == "":
				t.Error(err)
			case err == nil && reason != "":
				t.Errorf("the stand-in follows the contract here; strike it from deviations.txt (%s)", reason)
			case reason != "":
				t.Logf("known deviation: %s: %v", reason, err)
			}
		})
	}
	for name := range deviations {
		if !slices.ContainsFunc(facts, func(f *wireFact) bool { return f.name == name }) {
			t.Errorf("deviations.txt: there is no %s", name)
		}
	}
}

// wireRun is one transcript being replayed.
type wireRun struct {
	t      *testing.T
	opts   local.Options
	server *local.Server
	done   chan error
	socket string
	tmp    string
	vars   map[string]string
	trace  map[string]bool
	open   []*wireStream
}

// replay returns in what the server differs from the transcript.
func replay(t *testing.T, f *wireFact) error {
	dir, err := os.MkdirTemp("", "wire") // a short path: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	r := &wireRun{
		t: t, socket: filepath.Join(dir, "s"), tmp: filepath.Join(dir, "tmp"), trace: map[string]bool{},
		opts: local.Options{DataDir: filepath.Join(dir, "data"), Supervisor: -1},
	}
	if err := os.Mkdir(r.tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	r.vars = map[string]string{"tmp": r.tmp}
	for _, d := range f.directives {
		r.directive(d)
	}
	if r.opts.Guest == nil {
		r.opts.Guest = script.New(nil)
	}
	r.start()
	t.Cleanup(r.stop)
	for _, s := range f.steps {
		if err := r.step(s); err != nil {
			return fmt.Errorf("section %d, %s: %w", s.section, strings.SplitN(s.text, "\n", 2)[0], err)
		}
	}
	return nil
}

func (r *wireRun) start() {
	s, err := local.New(&r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	l, err := net.Listen("unix", r.socket)
	if err != nil {
		r.t.Fatal(err)
	}
	r.server, r.done = s, make(chan error, 1)
	clear(r.trace) // the next server counts anew, and here in the same process
	go func() { r.done <- s.Serve(l) }()
}

func (r *wireRun) stop() {
	r.hangUp()
	r.server.KillAll()
	r.server.Close()
	<-r.done
}

// hangUp closes the connections that are open.
func (r *wireRun) hangUp() {
	for _, s := range r.open {
		s.Close()
	}
	r.open = nil
}

func (r *wireRun) step(s wireStep) error {
	text, err := wireExpand(s.text, r.vars)
	if err != nil {
		return err
	}
	switch s.kind {
	case "setup":
		return r.setUp(text)
	case "do":
		return r.act(strings.Fields(text))
	case "more":
		return r.more(strings.TrimSuffix(text, "\n"))
	case "abandon":
		return r.abandon(text)
	}
	for range s.times {
		if err := r.exchange(s, text); err != nil {
			return err
		}
	}
	return nil
}

// setUp sends METHOD PATH [JSON], which must be 200.
func (r *wireRun) setUp(line string) error {
	parts := strings.SplitN(line, " ", 3)
	text := parts[0] + " " + parts[1] + " HTTP/1.1\n\n"
	if len(parts) == 3 {
		text = parts[0] + " " + parts[1] + " HTTP/1.1\ncontent-type: application/json\n\n" + parts[2]
	}
	return r.exchange(wireStep{kind: "request", reply: wireReply{status: "200"}}, text)
}

// more reads on from the stream opened last, until its body since the beginning matches.
func (r *wireRun) more(pattern string) error {
	if len(r.open) == 0 {
		return errors.New("nothing is open")
	}
	re, err := wireRegexp(pattern, true)
	if err != nil {
		return err
	}
	return r.open[len(r.open)-1].until(re)
}

// abandon sends a request and hangs up.
func (r *wireRun) abandon(text string) error {
	c, err := wireDial(r.socket)
	if err != nil {
		return err
	}
	_, raw := wireRequest(text)
	_, err = c.Write(raw)
	return errors.Join(err, c.Close())
}

func (r *wireRun) exchange(s wireStep, text string) error {
	method, raw := wireRequest(text)
	c, err := wireDial(r.socket)
	if err != nil {
		return err
	}
	keep := false
	defer func() {
		if !keep {
			c.Close()
		}
	}()
	c.send(raw)
	a, err := c.head()
	if err != nil {
		return err
	}
	body, err := a.reader(c, method)
	if err != nil {
		return err
	}
	if err := r.checkHead(method, s.reply, a); err != nil {
		all, _ := io.ReadAll(io.LimitReader(body, 2000))
		return fmt.Errorf("%w\nbody %s", err, wireClip(string(all)))
	}
	want, err := wireExpand(s.reply.body, r.vars)
	if err != nil {
		return err
	}
	if s.kind == "open" {
		keep = true
		r.open = append(r.open, &wireStream{wireConn: c, body: body})
		return r.more(want)
	}
	var all bytes.Buffer
	if _, err := all.ReadFrom(body); err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	if !s.reply.checkBody {
		return nil
	}
	if strings.HasPrefix(strings.Join(a.headers["content-type"], ""), "application/json") && method != "HEAD" {
		return wireMatchJSON(want, all.String())
	}
	return wireMatch(want, all.String())
}

// checkHead compares status and headers. Every reply but one to OPTIONS has a trace id of its own and the vary header.
func (r *wireRun) checkHead(method string, want wireReply, a *wireAnswer) error {
	if a.status != want.status {
		return fmt.Errorf("status %s, want %s", a.status, want.status)
	}
	headers := want.headers
	if method != "OPTIONS" {
		headers = append(slices.Clone(headers), [2]string{"x-trace-id", "{{hex16}}"}, [2]string{"vary", "{{text}}"})
		if id := strings.Join(a.headers["x-trace-id"], " "); r.trace[id] {
			return fmt.Errorf("the trace id %s comes twice", id)
		} else if r.trace[id] = true; len(id) == 16 && id[8:] != fmt.Sprintf("%08x", os.Getpid()) {
			return fmt.Errorf("the trace id %s does not end in the process id", id)
		}
	}
	for _, h := range headers {
		if name, ok := strings.CutPrefix(h[0], "!"); ok {
			if got, there := a.headers[name]; there {
				return fmt.Errorf("there is a header %s: %s", name, got)
			}
			continue
		}
		got, there := a.headers[h[0]]
		if !there || len(got) != 1 {
			return fmt.Errorf("header %s is %q", h[0], got)
		}
		pattern, err := wireExpand(h[1], r.vars)
		if err != nil {
			return err
		}
		if err := wireMatch(pattern, got[0]); err != nil {
			return fmt.Errorf("header %s: %w", h[0], err)
		}
	}
	return nil
}
