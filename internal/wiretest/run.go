package wiretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
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

// setUp sends [NAME[.PATH] =] METHOD PATH [JSON], which must succeed, and keeps what the reply has at the path, id if there is none.
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
	body, err := r.ask(text, reply{status: "2xx"})
	if err != nil || keep == "" {
		return err
	}
	name, path, _ := strings.Cut(keep, ".")
	if path == "" {
		path = "id"
	}
	r.Vars[name], err = memberOf(string(body), path)
	return err
}

// memberOf returns the text or the number at a path of names and places in a JSON value.
func memberOf(body, path string) (string, error) {
	at, err := decode(body)
	if err != nil {
		return "", fmt.Errorf("got %s: %w", clip(body), err)
	}
	for name := range strings.SplitSeq(path, ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[name]
		case []any:
			at = nil
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
				at = v[i]
			}
		default:
			at = nil
		}
	}
	switch v := at.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	}
	return "", fmt.Errorf("neither text nor number at %s of %s", path, clip(body))
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

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
