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
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/internal/sse"
	"github.com/smol-machines/smol-go/smol"
)

func TestCheckExec(t *testing.T) {
	env, err := rest.CheckExec(&smol.ExecRequest{Argv: []string{"env", "ü\n"}, Env: []string{"A=1", "_b2=x=y", "A="}, Dir: "/srv"})
	if diff := cmp.Diff([][2]string{{"A", "1"}, {"_b2", "x=y"}, {"A", ""}}, env); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for field, req := range map[string]*smol.ExecRequest{
		"ExecRequest.Argv names":   {},
		"ExecRequest.Argv names ":  {Argv: []string{""}},
		"ExecRequest.Argv[1]":      {Argv: []string{"a", "\x00"}},
		"ExecRequest.Argv[0] is n": {Argv: []string{"\xff"}},
		"ExecRequest.Dir":          {Argv: []string{"a"}, Dir: "\xff"},
		"ExecRequest.Timeout":      {Argv: []string{"a"}, Timeout: -1},
		"ExecRequest.Env[0]":       {Argv: []string{"a"}, Env: []string{"=x"}},
		"ExecRequest.Env[1]":       {Argv: []string{"a"}, Env: []string{"A=x", "no value"}},
		"ExecRequest.Env[0] has":   {Argv: []string{"a"}, Env: []string{strings.Repeat("A", 257) + "=x"}},
		"ExecRequest.Env[0] con":   {Argv: []string{"a"}, Env: []string{"A=\x00"}},
	} {
		if _, err := rest.CheckExec(req); !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: %v, want one about %s", req, err, field)
		}
	}
}

func TestDescribe(t *testing.T) {
	bad := rest.Invalid("Spec.Name", "is %q", "x")
	e := asError(t, rest.Describe(bad, "create", "web"))
	if e.Op != "create" || e.Machine != "web" || e.Message != `Spec.Name is "x"` || bad.Op != "" {
		t.Errorf("%+v from %+v", e, bad)
	}
	if err := rest.Describe(io.EOF, "create", "web"); err != io.EOF {
		t.Errorf("%v", err)
	}
	if err := rest.Describe(nil, "create", "web"); err != nil {
		t.Errorf("%v", err)
	}
	un := rest.Unsupported("cloud", "Spec.Mounts", "mounts", "copy")
	if !errors.Is(un, errors.ErrUnsupported) || un.Message != "Spec.Mounts is set, and the cloud fleet has no mounts" || un.Hint != "copy" {
		t.Errorf("%+v", un)
	}
}

func TestLost(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{context.Canceled, false},
		{&smol.Error{Status: 408}, true},
		{&smol.Error{Status: 500, Code: smol.CodeInternal}, false},
		{&smol.Error{Code: smol.CodeUnavailable}, true},
		{&smol.Error{Code: smol.CodeUnknown}, true},
		{&smol.Error{Code: smol.CodeInvalid}, false},
		{&smol.Error{Code: smol.CodeUnsupported}, false},
		{&smol.Error{Code: smol.CodeUnavailable, Err: dial}, false},
		{fmt.Errorf("wrapped: %w", &smol.Error{Status: 408}), true},
	} {
		if got := rest.Lost(tt.err); got != tt.want {
			t.Errorf("%#v: %v", tt.err, got)
		}
	}
	e := &smol.Error{Status: 404}
	if got, ok := rest.Answer(fmt.Errorf("x: %w", e), 404); !ok || got != e {
		t.Errorf("%v, %v", got, ok)
	}
	for _, err := range []error{nil, io.EOF, e} {
		if _, ok := rest.Answer(err, 500); ok {
			t.Errorf("%v is taken for a 500", err)
		}
	}
}

func TestInterpret(t *testing.T) {
	table := []rest.Meaning{
		{Op: "create", Status: 409, Code: smol.CodeExists, Hint: "name"},
		{Status: 409, ServerCode: "busy", Hint: "busy"},
		{Phrase: "disk is full", Code: smol.CodeInternal, Hint: "full"},
	}
	for _, tt := range []struct {
		e    smol.Error
		code smol.Code
		hint string
	}{
		{smol.Error{Op: "create", Status: 409, Code: smol.CodeConflict}, smol.CodeExists, "name"},
		{smol.Error{Op: "start", Status: 409, Code: smol.CodeConflict}, smol.CodeConflict, ""},
		{smol.Error{Op: "start", Status: 409, Code: smol.CodeConflict, ServerCode: "busy"}, smol.CodeConflict, "busy"},
		{smol.Error{Status: 500, Code: smol.CodeUnknown, Message: "The Disk is FULL!"}, smol.CodeInternal, "full"},
		{smol.Error{Status: 500, Code: smol.CodeUnknown, Message: "the disk", Hint: "kept"}, smol.CodeUnknown, "kept"},
	} {
		e := tt.e
		if rest.Interpret(&e, table); e.Code != tt.code || e.Hint != tt.hint {
			t.Errorf("%+v became %+v", tt.e, e)
		}
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]int64{1: 1, time.Second: 1, 1001 * time.Millisecond: 2, time.Hour: 3600} {
		if got := rest.Seconds(d); got != want {
			t.Errorf("%v: %d, want %d", d, got, want)
		}
	}
}

func TestUpload(t *testing.T) {
	odd := errors.New("odd")
	for _, tt := range []struct {
		name       string
		r          io.Reader
		size, most int64
		want, fail string
		cause      error
	}{
		{"as announced", strings.NewReader("abc"), 3, 0, "abc", "", nil},
		{"byte by byte", iotest.OneByteReader(strings.NewReader("abc")), 3, 0, "abc", "", nil},
		{"end with the data", iotest.DataErrReader(strings.NewReader("abc")), 3, 0, "abc", "", nil},
		{"not announced", strings.NewReader("abc"), -1, 0, "abc", "", nil},
		{"too much", strings.NewReader("abcd"), 3, 0, "", "more to write than the 3 bytes", nil},
		{"too much, byte by byte", iotest.OneByteReader(strings.NewReader("abcd")), 3, 0, "ab", "more to write", nil},
		{"too little", strings.NewReader("ab"), 3, 0, "ab", "only 2 of the 3", io.ErrUnexpectedEOF},
		{"above the limit", strings.NewReader("abcd"), -1, 3, "", "file of 4 bytes is too large for one upload, which carries 3", nil},
		{"failing", io.MultiReader(strings.NewReader("a"), iotest.ErrReader(odd)), -1, 0, "a", "reading what is to be written: odd", odd},
		{"idle for ever", idle{strings.NewReader("abc")}, 3, 0, "", "", nil},
	} {
		u := rest.NewUpload(tt.r, tt.size, tt.most)
		if tt.name == "idle for ever" {
			// It has no last byte that is sure to be the last.
			if _, err := io.ReadAll(u); !errors.Is(err, io.ErrNoProgress) || !errors.Is(u.Failure(), io.ErrNoProgress) {
				t.Errorf("%s: %v, %v", tt.name, err, u.Failure())
			}
			continue
		}
		got, err := io.ReadAll(u)
		failed := u.Failure()
		if string(got) != tt.want || (err != nil) != (tt.fail != "") || (failed != nil) != (tt.fail != "") || u.Count() != int64(len(tt.want)) {
			t.Errorf("%s: %q, %v, %v, %d", tt.name, got, err, failed, u.Count())
		}
		if tt.fail != "" && (!strings.Contains(failed.Error(), tt.fail) || tt.cause != nil && !errors.Is(failed, tt.cause)) {
			t.Errorf("%s: %v, want %q", tt.name, failed, tt.fail)
		}
	}
	u := rest.NewUpload(strings.NewReader("abc"), 3, 2)
	if err := u.TooLarge(); !errors.Is(err, smol.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if err := rest.NewUpload(strings.NewReader("abc"), 3, 3).TooLarge(); err != nil {
		t.Error(err)
	}
	u.Stop()
	if _, err := u.Read(make([]byte, 1)); err == nil || u.Failure() != nil {
		t.Errorf("read after the end: %v, %v", err, u.Failure())
	}
	if err := rest.NewUpload(strings.NewReader(""), 0, 0).Empty(); err != nil {
		t.Error(err)
	}
	if err := rest.NewUpload(strings.NewReader("a"), 0, 0).Empty(); !errors.Is(err, smol.ErrInvalid) {
		t.Error(err)
	}
}

// idle gives its data and then neither more nor an end.
type idle struct{ r io.Reader }

func (i idle) Read(p []byte) (int, error) {
	n, _ := i.r.Read(p)
	return n, nil
}

func TestAttach(t *testing.T) {
	r := &rest.Request{Op: "exec"}
	if err := r.Attach(map[string]string{"a": "<&>"}, 11); err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(r.Body); string(body) != `{"a":"<&>"}` || err != nil || r.ContentType != "application/json" {
		t.Errorf("%s, %v, %s", body, err, r.ContentType)
	}
	if e := asError(t, r.Attach("too long for that", 10)); e.Code != smol.CodeInvalid || !strings.Contains(e.Message, "19 bytes") || e.Hint == "" {
		t.Errorf("%+v", e)
	}
	if e := asError(t, r.Attach(func() {}, 0)); e.Code != smol.CodeInvalid || e.Op != "exec" {
		t.Errorf("%+v", e)
	}
}

func TestEmptyAnswer(t *testing.T) {
	s := answering(t, reply("202 Accepted", "application/json", " \n"))
	out := map[string]int{"kept": 1}
	r := &rest.Request{Method: "POST", Path: "/a", MayBeEmpty: true}
	if err := s.client(t).JSON(t.Context(), r, nil, &out); err != nil || out["kept"] != 1 {
		t.Errorf("%v, %v", out, err)
	}
	r = &rest.Request{Method: "POST", Path: "/a"}
	if err := s.client(t).JSON(t.Context(), r, nil, &out); asError(t, err).Code != smol.CodeUnknown {
		t.Errorf("%v", err)
	}
}

func TestTimeout(t *testing.T) {
	s := serve(t, func(_ net.Conn, next func() *http.Request) {
		for next() != nil {
		}
	})
	c := rest.New(&rest.Config{Base: &url.URL{Scheme: "http", Host: s.addr}, Transport: rest.NewTransport(new(net.Dialer).DialContext), Timeout: 20 * time.Millisecond})
	t.Cleanup(c.Close)
	if _, err := c.Do(t.Context(), &rest.Request{Path: "/a"}); asError(t, err).Code != smol.CodeUnavailable {
		t.Errorf("%v", err)
	}
}

// TestSecret: what a service repeats of the request does not become part of an error.
func TestSecret(t *testing.T) {
	const secret = "hunter2-and-more"
	for name, answer := range map[string]string{
		"json":         reply("403 Forbidden", "application/json", `{"detail":"bad `+secret+`","code":"`+secret+`"}`, "X-Trace-Id: "+secret),
		"escaped":      reply("403 Forbidden", "application/json", `{"detail":"bad \u0068unter2-and-more"}`),
		"cut in it":    reply("502 Bad Gateway", "text/html", "<p>"+strings.Repeat("x", 190)+secret),
		"type":         reply("502 Bad Gateway", "text/"+secret, ""),
		"not JSON":     reply("200 OK", "text/plain", strings.Repeat("x", 190)+secret),
		"another JSON": reply("200 OK", "application/json", `{"n":"`+secret+`"}`),
		"no HTTP":      secret + "\r\n\r\n",
		"header":       "HTTP/1.1 200 OK\r\n" + secret + "\r\n\r\n",
	} {
		s := answering(t, answer)
		c := rest.New(&rest.Config{
			Base: &url.URL{Scheme: "http", Host: s.addr}, Transport: rest.NewTransport(new(net.Dialer).DialContext), RequestID: "X-Trace-Id", Secret: secret,
		})
		t.Cleanup(c.Close)
		var out struct{ N int }
		err := c.JSON(t.Context(), &rest.Request{Path: "/a"}, nil, &out)
		e := asError(t, err)
		if text := fmt.Sprintf("%v %+v %v", err, *e, errors.Unwrap(e)); strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s", name, text)
		}
		if e.Message == "" && e.Err == nil {
			t.Errorf("%s: nothing is left of the error", name)
		}
	}
}

func TestStreamEnds(t *testing.T) {
	r := &rest.Request{Op: "stream", Machine: "web"}
	if ev, err := r.Exit(`{"exitCode":3}`); err != nil || !ev.Exited || ev.ExitCode != 3 {
		t.Errorf("%+v, %v", ev, err)
	}
	for _, bad := range []string{"", "{}", "null", `{"exitCode":null}`, `{"exitCode":"3"}`, "3"} {
		if _, err := r.Exit(bad); asError(t, err).Code != smol.CodeUnknown {
			t.Errorf("%q: %v", bad, err)
		}
	}
	e := asError(t, r.Cut(t.Context(), io.ErrUnexpectedEOF))
	if e.Code != smol.CodeUnavailable || e.Hint == "" || !errors.Is(e, io.ErrUnexpectedEOF) {
		t.Errorf("%+v", e)
	}
	if e = asError(t, r.Cut(t.Context(), sse.ErrTooLong)); e.Code != smol.CodeUnknown || !errors.Is(e, sse.ErrTooLong) {
		t.Errorf("%+v", e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Cut(ctx, io.ErrUnexpectedEOF); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestDownload(t *testing.T) {
	s := serve(t, func(c net.Conn, next func() *http.Request) {
		next()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
	})
	r := &rest.Request{Op: "read file", Machine: "web", File: "/x", Path: "/x"}
	resp, err := s.client(t).Do(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	body := r.Download(t.Context(), resp)
	got, err := io.ReadAll(body)
	if e := asError(t, err); string(got) != "abc" || e.Code != smol.CodeUnavailable || e.Path != "/x" {
		t.Errorf("%q, %+v", got, e)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
}
