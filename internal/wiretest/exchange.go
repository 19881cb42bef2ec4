package wiretest

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

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

// checkHead compares status and headers.
func (r *Run) checkHead(method string, want reply, a *Answer) error {
	if a.Status != want.status && a.Status[:1]+"xx" != want.status {
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
