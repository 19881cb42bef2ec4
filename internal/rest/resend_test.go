package rest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/smol"
)

// TestNothingIsSentTwice lets a connection die under its second request, where net/http would repeat some.
func TestNothingIsSentTwice(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		for _, body := range []string{"", `{"k":1}`} {
			t.Run(method+" "+body, func(t *testing.T) {
				s := serve(t, func(c net.Conn, next func() *http.Request) {
					req := next()
					if req == nil || req.Method != "GET" {
						return
					}
					_, _ = io.WriteString(c, reply("200 OK", "text/plain", "ok"))
					if req := next(); req != nil {
						_, _ = io.Copy(io.Discard, req.Body)
					}
				})
				client := s.client(t)
				if err := client.JSON(t.Context(), &rest.Request{Path: "/warm"}, nil, new(any)); err == nil {
					t.Fatal("text was taken for JSON") // but read to its end, so that the connection is reused
				}
				r := &rest.Request{Method: method, Path: "/change"}
				if body != "" {
					r.Body, r.ContentType = strings.NewReader(body), "application/json"
				}
				_, err := client.Do(t.Context(), r)
				if e := asError(t, err); e.Status != 0 || e.Code != smol.CodeUnavailable {
					t.Errorf("got %+v", e)
				}
				changes := 0
				for _, seen := range s.requests() {
					if strings.HasSuffix(seen, "/change") {
						changes++
					}
				}
				if changes != 1 {
					t.Errorf("sent %d times: %q", changes, s.requests())
				}
			})
		}
	}
}

// TestEarlyRefusal wants the answer of a server that refuses an upload without reading it and hangs up, every time: net/http
// alone reports a broken pipe in some of them.
func TestEarlyRefusal(t *testing.T) {
	for range 50 {
		s := serve(t, func(c net.Conn, next func() *http.Request) {
			if next() != nil {
				_, _ = io.WriteString(c, reply("413 Payload Too Large", "text/plain; charset=utf-8",
					"Failed to buffer the request body: length limit exceeded", "Connection: close"))
			}
		})
		_, err := s.client(t).Do(t.Context(), &rest.Request{Method: "PUT", Path: "/f", Body: &endless{}, Size: 1 << 30})
		if e := asError(t, err); e.Status != 413 || e.Code != smol.CodeInvalid || !strings.Contains(e.Message, "length limit") {
			t.Fatalf("got %+v", e)
		}
	}
}

// TestRefusalWithoutReading is the same of a server that keeps the connection open and just does not read.
func TestRefusalWithoutReading(t *testing.T) {
	hold := make(chan struct{})
	s := serve(t, func(c net.Conn, next func() *http.Request) {
		if next() != nil {
			_, _ = io.WriteString(c, reply("404 Not Found", "application/json", `{"error":"machine 'm' not found","code":"NOT_FOUND"}`))
			<-hold
		}
	})
	defer close(hold)
	_, err := s.client(t).Do(t.Context(), &rest.Request{Method: "PUT", Path: "/f", Body: &endless{}, Size: -1})
	if e := asError(t, err); e.Status != 404 || e.Message != "machine 'm' not found" {
		t.Errorf("got %+v", e)
	}
}

type endless struct{ n atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.n.Add(int64(len(p)))
	return len(p), nil
}

// closeCounter counts the bodies that were opened and closed.
type closeCounter struct{ opened, closed atomic.Int64 }

func (c *closeCounter) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		c.opened.Add(1)
		resp.Body = &countedBody{resp.Body, c}
	}
	return resp, err
}

type countedBody struct {
	io.ReadCloser
	c *closeCounter
}

func (b *countedBody) Close() error { b.c.closed.Add(1); return b.ReadCloser.Close() }

// TestDialEndsWithTheCall wants no dial left behind by a call that was given up; net/http would let it go on.
func TestDialEndsWithTheCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	c := rest.New(&rest.Config{
		Base: &url.URL{Scheme: "http", Host: "localhost"},
		Transport: rest.NewTransport(func(ctx context.Context, _, _ string) (net.Conn, error) {
			cancel()
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}),
	})
	if _, err := c.Do(ctx, &rest.Request{Op: "list", Path: "/"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-ended
}
