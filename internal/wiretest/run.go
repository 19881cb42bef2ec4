package wiretest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Run is one transcript being replayed.
type Run struct {
	// TB is its test.
	TB testing.TB
	// Dir is a directory of its own, for what the service needs; its path is short enough for a socket. Tmp is the one inside that the
	// transcript knows as {{tmp}}.
	Dir, Tmp string
	// Vars are what placeholders stand for.
	Vars map[string]string

	service Service
	open    []*stream
}

// hangUp closes the connections that are open.
func (r *Run) hangUp() {
	for _, s := range r.open {
		s.Close()
	}
	r.open = nil
}

// directive does those that every service has, and leaves the others to the service.
func (r *Run) directive(d []string) error {
	path := func(i int) string { return filepath.Join(r.Tmp, d[i]) }
	switch name := d[0]; {
	case name == "only" && len(d) == 2:
		return nil
	case name == "dir" && len(d) == 2:
		return os.Mkdir(path(1), 0o755)
	case name == "file" && len(d) == 2:
		return os.WriteFile(path(1), nil, 0o644)
	case name == "link" && len(d) == 3:
		return os.Symlink(d[2], path(1))
	case name == "busy" && len(d) == 1:
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		r.TB.Cleanup(func() { l.Close() })
		_, r.Vars["busyport"], err = net.SplitHostPort(l.Addr().String())
		return err
	default:
		return r.service.Directive(d)
	}
}

// act does the actions that every service has, and leaves the others to the service.
func (r *Run) act(words []string) error {
	switch verb := words[0]; {
	case verb == "hang-up" && len(words) == 1:
		r.hangUp()
		return nil
	case verb == "remove" && len(words) == 2:
		return os.RemoveAll(filepath.Join(r.Tmp, words[1]))
	default:
		return r.service.Act(words)
	}
}

func (r *Run) step(s step) error {
	text, err := expand(s.text, r.Vars)
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

// setUp sends [NAME[.MEMBER] =] METHOD PATH [JSON], which must succeed, and keeps a member of the reply, id if none is named.
func (r *Run) setUp(line string) error {
	keep := ""
	if name, rest, ok := strings.Cut(line, " = "); ok && !strings.Contains(name, " ") {
		keep, line = name, rest
	}
	parts := strings.SplitN(line, " ", 3)
	text := parts[0] + " " + parts[1] + " HTTP/1.1\n\n"
	if len(parts) == 3 {
		text = parts[0] + " " + parts[1] + " HTTP/1.1\ncontent-type: application/json\n\n" + parts[2]
	}
	body, err := r.ask(text, reply{status: "2"})
	if err != nil || keep == "" {
		return err
	}
	name, member, _ := strings.Cut(keep, ".")
	if member == "" {
		member = "id"
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		return fmt.Errorf("got %s: %w", clip(string(body)), err)
	}
	value, ok := fields[member].(string)
	if !ok {
		return fmt.Errorf("no text %s in %s", member, clip(string(body)))
	}
	r.Vars[name] = value
	return nil
}

// more reads on from the stream opened last, until its body since the beginning matches.
func (r *Run) more(pattern string) error {
	if len(r.open) == 0 {
		return errors.New("nothing is open")
	}
	re, err := compile(pattern, true)
	if err != nil {
		return err
	}
	return r.open[len(r.open)-1].until(re)
}

// abandon sends a request and hangs up.
func (r *Run) abandon(text string) error {
	c, err := dial(r.service)
	if err != nil {
		return err
	}
	_, raw := request(text, r.service.Headers())
	_, err = c.Write(raw)
	return errors.Join(err, c.Close())
}

// exchange sends a request and compares the reply.
func (r *Run) exchange(s step, text string) error {
	want := s.reply
	var err error
	if want.body, err = expand(want.body, r.Vars); err != nil {
		return err
	}
	if s.kind == "open" {
		return r.follow(text, want)
	}
	_, err = r.ask(text, want)
	return err
}

// send sends a request and compares the head of the reply. The connection is the caller's to close, if there is one.
func (r *Run) send(text string, want reply) (*conn, *Answer, io.Reader, error) {
	method, raw := request(text, r.service.Headers())
	c, err := dial(r.service)
	if err != nil {
		return nil, nil, nil, err
	}
	c.send(raw)
	a, err := c.head()
	if err != nil {
		return c, nil, nil, err
	}
	body, err := a.reader(c, method)
	if err != nil {
		return c, nil, nil, err
	}
	if err := r.checkHead(method, want, a); err != nil {
		all, _ := io.ReadAll(io.LimitReader(body, 2000))
		return c, nil, nil, fmt.Errorf("%w\nbody %s", err, clip(string(all)))
	}
	return c, a, body, nil
}

// ask sends a request and reads and compares the whole reply.
func (r *Run) ask(text string, want reply) ([]byte, error) {
	c, a, body, err := r.send(text, want)
	if c != nil {
		defer c.Close()
	}
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	if _, err := all.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	switch {
	case !want.checkBody:
		return all.Bytes(), nil
	case isJSON(a.Header("content-type")) && all.Len() > 0:
		return all.Bytes(), matchJSON(want.body, all.String())
	default:
		return all.Bytes(), match(want.body, all.String())
	}
}

// isJSON reports whether a content type is JSON's, a problem's among them.
func isJSON(contentType string) bool {
	return strings.HasPrefix(contentType, "application/json") || strings.HasPrefix(contentType, "application/problem+json")
}

// follow sends a request whose reply goes on, and reads it until it matches.
func (r *Run) follow(text string, want reply) error {
	c, _, body, err := r.send(text, want)
	if err != nil {
		if c != nil {
			c.Close()
		}
		return err
	}
	r.open = append(r.open, &stream{conn: c, body: body})
	return r.more(want.body)
}

// checkHead compares status and headers; of the status only so much as is written.
func (r *Run) checkHead(method string, want reply, a *Answer) error {
	if !strings.HasPrefix(a.Status, want.status) {
		return fmt.Errorf("status %s, want %s", a.Status, want.status)
	}
	if err := r.service.Check(method, a); err != nil {
		return err
	}
	for _, h := range want.headers {
		if name, ok := strings.CutPrefix(h[0], "!"); ok {
			if got, there := a.Headers[name]; there {
				return fmt.Errorf("there is a header %s: %s", name, got)
			}
			continue
		}
		pattern, err := expand(h[1], r.Vars)
		if err != nil {
			return err
		}
		if err := a.Match(h[0], pattern); err != nil {
			return err
		}
	}
	return nil
}

// Match compares a header, whose name is in lower case and which must be there once, with a pattern.
func (a *Answer) Match(name, pattern string) error {
	got := a.Headers[name]
	if len(got) != 1 {
		return fmt.Errorf("header %s is %q", name, got)
	}
	if err := match(pattern, got[0]); err != nil {
		return fmt.Errorf("header %s: %w", name, err)
	}
	return nil
}

// Await asks for path until the answer is 200 with a JSON body that matches; with an empty one the answer may go on.
func (r *Run) Await(path, body string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	s := step{kind: "request", reply: reply{status: "200", body: body, checkBody: true}}
	if body == "" {
		s.kind = "open"
	}
	var last error
	for end := time.Now().Add(deadline); time.Now().Before(end); <-tick.C {
		if last = r.exchange(s, "GET "+path+" HTTP/1.1\n"); last == nil {
			return nil
		}
	}
	return fmt.Errorf("in vain: %w", last)
}

func firstLine(s string) string { return slices.Collect(strings.Lines(s + "\n"))[0] }
