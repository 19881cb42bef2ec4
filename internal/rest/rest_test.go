package rest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/smol"
)

// reply is an HTTP answer with a body of known length.
func reply(status, contentType, body string, header ...string) string {
	head := strings.Join(append(header, ""), "\r\n")
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s", status, contentType, len(body), head, body)
}

func asError(t *testing.T, err error) *smol.Error {
	t.Helper()
	var e *smol.Error
	if !errors.As(err, &e) {
		t.Fatalf("%T %v is no *smol.Error", err, err)
	}
	return e
}

func TestRequestOnTheWire(t *testing.T) {
	type wire struct{ Method, URI, Host, Agent, Accept, Type, Body string }
	got := make(chan wire, 1)
	s := serve(t, func(c net.Conn, next func() *http.Request) {
		for req := next(); req != nil; req = next() {
			body, _ := io.ReadAll(req.Body)
			got <- wire{
				req.Method, req.RequestURI, req.Host, req.UserAgent(), req.Header.Get("Accept"), req.Header.Get("Content-Type"),
				fmt.Sprintf("%d %v %s", req.ContentLength, req.TransferEncoding, body),
			}
			_, _ = io.WriteString(c, reply("200 OK", "application/json", `{"n":7,"unknown":[]}`))
		}
	})
	client := s.client(t)
	for _, tt := range []struct {
		name string
		req  rest.Request
		in   any
		want wire
	}{
		{"get", rest.Request{Path: "/a", Query: "x=1"}, nil, wire{Method: "GET", URI: "/a?x=1", Body: "0 [] "}},
		{"escaped", rest.Request{Path: "/a%2Fb/%3F%25c"}, nil, wire{Method: "GET", URI: "/a%2Fb/%3F%25c", Body: "0 [] "}},
		{"delete", rest.Request{Method: "DELETE", Path: "/a"}, nil, wire{Method: "DELETE", URI: "/a", Body: "0 [] "}},
		{"json", rest.Request{Method: "POST", Path: "/a", Accept: "application/json"}, map[string]int{"k": 1}, wire{
			Method: "POST", URI: "/a", Accept: "application/json", Type: "application/json", Body: `7 [] {"k":1}`,
		}},
		{"stream", rest.Request{Method: "PUT", Path: "/f", Body: io.MultiReader(strings.NewReader("abc")), Size: -1, ContentType: "x/y"}, nil, wire{
			Method: "PUT", URI: "/f", Type: "x/y", Body: "-1 [chunked] abc",
		}},
		{"sized", rest.Request{Method: "PUT", Path: "/f", Body: io.MultiReader(strings.NewReader("abc")), Size: 3}, nil, wire{
			Method: "PUT", URI: "/f", Body: "3 [] abc",
		}},
		{"empty", rest.Request{Method: "PUT", Path: "/f", Body: io.MultiReader(), Size: 0}, nil, wire{Method: "PUT", URI: "/f", Body: "0 [] "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out struct{ N int }
			if err := client.JSON(t.Context(), &tt.req, tt.in, &out); err != nil || out.N != 7 {
				t.Fatalf("%+v, %v", out, err)
			}
			tt.want.Host, tt.want.Agent = s.addr, "smol-test"
			if diff := cmp.Diff(tt.want, <-got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorCarriesTheAnswer(t *testing.T) {
	s := answering(t, reply("409 Conflict", "application/json", `{"error":"machine 'm' already exists","code":"CONFLICT"}`,
		"X-Trace-Id: 0123456789abcdef", "Retry-After: 3"))
	_, err := s.client(t).Do(t.Context(), &rest.Request{Op: "create", Machine: "m", File: "/f", Path: "/"})
	want := &smol.Error{
		Op: "create", Machine: "m", Path: "/f", Code: smol.CodeConflict, Message: "machine 'm' already exists", Status: 409,
		ServerCode: "CONFLICT", RequestID: "0123456789abcdef", RetryAfter: 3 * time.Second,
	}
	if diff := cmp.Diff(want, asError(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	s := answering(t, reply("307 Temporary Redirect", "text/plain", "", "Location: /elsewhere"))
	_, err := s.client(t).Do(t.Context(), &rest.Request{Method: "POST", Path: "/a", Body: strings.NewReader("x")})
	if e := asError(t, err); e.Status != 307 || e.Code != smol.CodeUnknown {
		t.Errorf("got %+v", e)
	}
	if diff := cmp.Diff([]string{"POST /a"}, s.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestProxyIsIgnored points every request at a proxy that does not exist.
func TestProxyIsIgnored(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	if rest.NewTransport(nil).Proxy != nil {
		t.Error("the transport asks for a proxy")
	}
}

// TestBadReplies wants an error without a status for every 200 that does not say what was done: the caller must look.
func TestBadReplies(t *testing.T) {
	for _, tt := range []struct {
		name, reply, message string
		code                 smol.Code
		cause                error
	}{
		{name: "nothing at all", reply: "", message: "cut", code: smol.CodeUnavailable, cause: io.EOF},
		{name: "half a head", reply: "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n", message: "cut", code: smol.CodeUnavailable, cause: io.ErrUnexpectedEOF},
		{name: "not HTTP", reply: "SSH-2.0-OpenSSH_9.9\r\n", message: "malformed HTTP", code: smol.CodeUnavailable},
		{name: "half a body", reply: "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"n\":", message: "cut", code: smol.CodeUnavailable, cause: io.ErrUnexpectedEOF},
		{name: "half a chunk", reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"n\":", message: "cut", code: smol.CodeUnavailable, cause: io.ErrUnexpectedEOF},
		{name: "a page", reply: reply("200 OK", "text/html", "<html>hello"), message: "200 OK, text/html: <html>hello", code: smol.CodeUnknown},
		{name: "empty", reply: reply("200 OK", "application/json", ""), message: "200 OK, application/json", code: smol.CodeUnknown},
		{name: "two values", reply: reply("200 OK", "application/json", `{"n":1}{"n":2}`), message: "not understood", code: smol.CodeUnknown},
		{name: "another type", reply: reply("200 OK", "application/json", `{"n":"seven"}`), message: "not understood", code: smol.CodeUnknown},
		{name: "too large", reply: reply("200 OK", "application/json", `{"n":1,"x":"`+strings.Repeat("x", 2000)+`"}`), message: "larger than 1000 bytes", code: smol.CodeUnknown},
		{name: "too large without a length", reply: "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 5000), message: "larger than 1000 bytes", code: smol.CodeUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, func(c net.Conn, next func() *http.Request) {
				if next() != nil {
					_, _ = io.WriteString(c, tt.reply)
				}
			})
			var out struct{ N int }
			err := s.client(t).JSON(t.Context(), &rest.Request{Op: "create", Machine: "m", Method: "POST", Path: "/", Limit: 1000}, nil, &out)
			e := asError(t, err)
			if e.Status != 0 || e.Code != tt.code || e.Op != "create" || e.Machine != "m" {
				t.Errorf("got %+v", e)
			}
			if !strings.Contains(err.Error(), tt.message) {
				t.Errorf("error %q does not say %q", err, tt.message)
			}
			if tt.cause != nil && !errors.Is(err, tt.cause) {
				t.Errorf("error %v has not the cause %v", err, tt.cause)
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

func TestContext(t *testing.T) {
	reason := errors.New("the user went away")
	for _, tt := range []struct {
		name  string
		reply string // what arrives before the context ends
	}{
		{"before the answer", ""},
		{"within the answer", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"},
		{"within an error's body", "HTTP/1.1 500 Oh\r\nContent-Length: 99\r\n\r\n{"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			s := serve(t, func(c net.Conn, next func() *http.Request) {
				if next() == nil {
					return
				}
				_, _ = io.WriteString(c, tt.reply)
				cancel(reason)
				next() // returns when the client hangs up
			})
			err := s.client(t).JSON(ctx, &rest.Request{Op: "start", Machine: "m", Path: "/"}, nil, &struct{}{})
			var e *smol.Error
			if !errors.Is(err, context.Canceled) || !errors.Is(err, reason) || errors.As(err, &e) {
				// The status of an error whose body was cut may have been seen before the end of the context.
				if tt.name != "within an error's body" || e == nil || e.Status != 500 {
					t.Errorf("got %#v", err)
				}
			}
		})
	}
	t.Run("ended before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := answering(t, reply("200 OK", "application/json", `{}`))
		err := s.client(t).JSON(ctx, &rest.Request{Op: "list", Path: "/"}, nil, nil)
		if !errors.Is(err, context.Canceled) || len(s.requests()) > 0 {
			t.Errorf("error %v, requests %q", err, s.requests())
		}
		if want := "smol: list: context canceled"; err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	})
}

func TestDiallersErrorStaysAsItIs(t *testing.T) {
	c := rest.New(&rest.Config{
		Base: &url.URL{Scheme: "http", Host: "localhost"},
		Transport: rest.NewTransport(func(context.Context, string, string) (net.Conn, error) {
			return nil, &smol.Error{Code: smol.CodeUnavailable, Message: "nobody listens", Hint: "start it"}
		}),
	})
	_, err := c.Do(t.Context(), &rest.Request{Op: "list", Path: "/"})
	want := &smol.Error{Op: "list", Code: smol.CodeUnavailable, Message: "nobody listens", Hint: "start it"}
	if diff := cmp.Diff(want, asError(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnencodableIsNotSent(t *testing.T) {
	s := answering(t, reply("200 OK", "application/json", `{}`))
	for _, r := range []rest.Request{{Path: "/%zz"}, {Path: "/", Method: "A B"}} {
		if err := s.client(t).JSON(t.Context(), &r, nil, nil); asError(t, err).Code != smol.CodeInvalid {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := s.client(t).JSON(t.Context(), &rest.Request{Path: "/"}, func() {}, nil); asError(t, err).Code != smol.CodeInvalid {
		t.Errorf("a function: %v", err)
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
