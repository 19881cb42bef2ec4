package local_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

// operation is one call of the backend on a machine.
type operation struct {
	op     string // as errors name it
	route  string
	ok     http.HandlerFunc
	change bool // it changes something, and so must not be sent twice
	call   func(ctx context.Context, b *local.Backend, id string) error
}

var operations = []operation{
	{"create", "POST /machines", says(machine("created")), true, func(ctx context.Context, b *local.Backend, id string) error {
		_, err := b.Create(ctx, &smol.Spec{Name: id})
		return err
	}},
	{"inspect", "GET /machines/m", says(machine("running")), false, func(ctx context.Context, b *local.Backend, id string) error {
		_, err := b.Inspect(ctx, id)
		return err
	}},
	{"start", "POST /machines/m/start", says(machine("running")), true, func(ctx context.Context, b *local.Backend, id string) error {
		_, err := b.Start(ctx, id, nil)
		return err
	}},
	{"stop", "POST /machines/m/stop", says(machine("stopped")), true, func(ctx context.Context, b *local.Backend, id string) error {
		_, err := b.Stop(ctx, id, nil)
		return err
	}},
	{"delete", "DELETE /machines/m", says(`{"deleted":"m"}`), true, func(ctx context.Context, b *local.Backend, id string) error {
		return b.Delete(ctx, id, nil)
	}},
	{"exec", "POST /machines/m/exec", says(`{"exitCode":0,"stdout":"","stderr":"","stdoutB64":"","stderrB64":""}`), true, func(ctx context.Context, b *local.Backend, id string) error {
		_, err := b.Exec(ctx, id, &smol.ExecRequest{Argv: []string{"true"}})
		return err
	}},
	{"stream", "POST /machines/m/exec/stream", says("event: exit\ndata: {\"exitCode\":0}\n\n"), true, func(ctx context.Context, b *local.Backend, id string) error {
		for _, err := range b.Stream(ctx, id, &smol.ExecRequest{Argv: []string{"true"}}) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	{"logs", "GET /machines/m/logs", says("data: booted\n\n"), false, func(ctx context.Context, b *local.Backend, id string) error {
		for _, err := range b.Logs(ctx, id, nil) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	{"write file", "PUT /machines/m/files/a", says(`{"path":"/a","size":2}`), true, func(ctx context.Context, b *local.Backend, id string) error {
		return b.Upload(ctx, id, "/a", strings.NewReader("hi"), 2)
	}},
	{"read file", "GET /machines/m/files/a", says("hi"), false, func(ctx context.Context, b *local.Backend, id string) error {
		r, _, err := b.Download(ctx, id, "/a")
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		_, err = io.ReadAll(r)
		return err
	}},
	{"branch", "POST /machines/m/branches", says(machine("running")), true, func(ctx context.Context, b *local.Backend, id string) error {
		_, err := b.Branch(ctx, id, "child", nil)
		return err
	}},
	{"pull image", "POST /machines/m/images/pull", says(`{"image":{"reference":"docker.io/library/alpine:latest","size":7}}`), true, func(ctx context.Context, b *local.Backend, id string) error {
		_, err := b.PullImage(ctx, id, "alpine")
		return err
	}},
}

// list and health have no machine.
var withoutMachine = []operation{
	{"list", "GET /machines", says(`{"machines":[]}`), false, func(ctx context.Context, b *local.Backend, _ string) error {
		for _, err := range b.List(ctx, nil) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	{"health", "GET /health", says(`{"status":"ok","version":"1.14.5","uptime_seconds":1}`), false, func(ctx context.Context, b *local.Backend, _ string) error {
		_, err := b.Health(ctx)
		return err
	}},
}

func allOperations() []operation {
	return append(append([]operation(nil), operations...), withoutMachine...)
}

func TestOperationsSucceed(t *testing.T) {
	for _, op := range allOperations() {
		t.Run(op.op, func(t *testing.T) {
			s := serve(t, answers{op.route: op.ok})
			if err := op.call(t.Context(), s.backend(), "m"); err != nil {
				t.Error(err)
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("%d requests: %q", n, s.requests())
			}
		})
	}
}

// TestOperationsOverTCP takes the way of Windows, whatever the system.
func TestOperationsOverTCP(t *testing.T) {
	for _, op := range allOperations() {
		t.Run(op.op, func(t *testing.T) {
			s := &server{t: t}
			s.run(s.listenOn("tcp", "127.0.0.1:0"), op.ok)
			s.url = strings.Replace(s.url, "http://127.0.0.1", "localhost", 1)
			if err := op.call(t.Context(), s.backend(), "m"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOperationsRefused sends every shape of error to every operation.
func TestOperationsRefused(t *testing.T) {
	text := func(status int, typ, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", typ)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, shape := range []struct {
		name    string
		answer  http.HandlerFunc
		status  int
		code    smol.Code
		message string
	}{
		{"envelope", fails(400, "BAD_REQUEST", "no such thing"), 400, smol.CodeInvalid, "no such thing"},
		{"conflict", fails(409, "CONFLICT", "wrong state"), 409, smol.CodeConflict, "wrong state"},
		{"internal", fails(500, "INTERNAL_ERROR", "database error: locked"), 500, smol.CodeInternal, "database error: locked"},
		{"unavailable", fails(503, "UNAVAILABLE", "busy"), 503, smol.CodeUnavailable, "busy"},
		{"framework text", text(422, "text/plain; charset=utf-8", "Failed to deserialize the JSON body into the target type: x at line 1 column 2"), 422, smol.CodeInvalid, "Failed to deserialize"},
		{"too large", text(413, "text/plain; charset=utf-8", "Failed to buffer the request body: length limit exceeded"), 413, smol.CodeInvalid, "length limit"},
		{"wrong method", text(405, "", ""), 405, smol.CodeUnsupported, "405 Method Not Allowed"},
		{"page", text(502, "text/html", "<html>Bad Gateway</html>"), 502, smol.CodeUnavailable, "502 Bad Gateway, text/html: <html>"},
		{"noise", text(500, "text/plain", strings.Repeat("noise ", 200_000)), 500, smol.CodeInternal, "noise noise"},
	} {
		for _, op := range allOperations() {
			t.Run(shape.name+"/"+op.op, func(t *testing.T) {
				s := serve(t, answers{op.route: shape.answer})
				e := asError(t, op.call(t.Context(), s.backend(), "m"))
				if e.Status != shape.status || e.Code != shape.code || e.Op != op.op || !strings.Contains(e.Message, shape.message) {
					t.Errorf("got %+v", e)
				}
				if len(e.Message) > 9<<10 {
					t.Errorf("message of %d bytes", len(e.Message))
				}
				if n := len(s.requests()); n != 1 {
					t.Errorf("%d requests: %q", n, s.requests())
				}
			})
		}
	}
}

func TestRequestIDIsKept(t *testing.T) {
	s := serve(t, answers{"GET /machines/m": fails(500, "INTERNAL_ERROR", "database error: locked")})
	_, err := s.backend().Inspect(t.Context(), "m")
	want := &smol.Error{
		Op: "inspect", Machine: "m", Code: smol.CodeInternal, Message: "database error: locked", Status: 500,
		ServerCode: "INTERNAL_ERROR", RequestID: "00000001000000ff",
	}
	if diff := cmp.Diff(want, asError(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMachineNotFound wants the same of every call on a machine that does not exist: not found, and no missing file.
func TestMachineNotFound(t *testing.T) {
	missing := fails(404, "NOT_FOUND", "machine 'm' not found")
	for _, op := range operations[1:] {
		t.Run(op.op, func(t *testing.T) {
			s := serve(t, answers{op.route: missing, "GET /machines/m": missing})
			err := op.call(t.Context(), s.backend(), "m")
			e := asError(t, err)
			if !errors.Is(err, smol.ErrNotFound) || e.Path != "" || e.Status != 404 {
				t.Errorf("got %+v", e)
			}
			if n := s.count(op.route); n != 1 && op.change {
				t.Errorf("sent %d times: %q", n, s.requests())
			}
		})
	}
}

// TestUnknownToTheServer is a machine that the smolvm command made: it is listed, and nothing is let into it.
func TestUnknownToTheServer(t *testing.T) {
	for _, op := range operations {
		switch op.op {
		case "exec", "stream", "logs", "write file", "read file", "pull image":
		default:
			continue
		}
		t.Run(op.op, func(t *testing.T) {
			s := serve(t, answers{op.route: fails(404, "NOT_FOUND", "machine 'm' not found"), "GET /machines/m": says(machine("running"))})
			e := asError(t, op.call(t.Context(), s.backend(), "m"))
			if e.Code != smol.CodeConflict || !strings.Contains(e.Hint, "Start") || e.Op != op.op {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// hostile names would lead elsewhere in a URL, or are not the service's.
var hostile = []string{
	"", ".", "..", "a/b", "../images/x", "..%2fx", "a?x=1", "a#b", "a b", "a\x00b", "a=b", "ü", "-a", "_a", "a-", "a--b", "a\n", strings.Repeat("a", 129), strings.Repeat("a", 1<<20),
}

func TestHostileNames(t *testing.T) {
	s := serve(t, nil)
	b := s.backend()
	for _, op := range operations {
		for _, id := range hostile {
			if e := asError(t, op.call(t.Context(), b, id)); e.Code != smol.CodeInvalid || e.Status != 0 || e.Op != op.op {
				t.Errorf("%s %.50q: %+v", op.op, id, e)
			}
		}
	}
	for _, child := range append([]string{"m"}, hostile...) {
		if _, err := b.Branch(t.Context(), "m", child, nil); asError(t, err).Code != smol.CodeInvalid {
			t.Errorf("branch %.50q: %v", child, err)
		}
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests were sent: %.300q", n, s.requests())
	}
}

func TestCancelledBefore(t *testing.T) {
	for _, op := range allOperations() {
		s := serve(t, nil)
		err := op.call(cancelled(t), s.backend(), "m")
		var e *smol.Error
		if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
			t.Errorf("%s: %#v", op.op, err)
		}
		if n := len(s.requests()); n != 0 {
			t.Errorf("%s: %d requests were sent", op.op, n)
		}
	}
}

// TestCancelledDuring ends the context while the service thinks, and wants the caller back although it goes on thinking.
func TestCancelledDuring(t *testing.T) {
	for _, op := range allOperations() {
		t.Run(op.op, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := serve(t, answers{op.route: func(_ http.ResponseWriter, r *http.Request) {
				cancel()
				<-r.Context().Done() // the client has hung up
			}})
			err := op.call(ctx, s.backend(), "m")
			var e *smol.Error
			if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
				t.Errorf("got %#v", err)
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("%d requests: %q", n, s.requests())
			}
		})
	}
}

// TestNothingIsSentTwice lets a connection that has served before die under each request: net/http would repeat some of them.
func TestNothingIsSentTwice(t *testing.T) {
	for _, op := range operations {
		if !op.change {
			continue
		}
		t.Run(op.op, func(t *testing.T) {
			s := serve(t, answers{
				"GET /health":     says(`{"status":"ok","version":"1.14.5"}`),
				"GET /machines/m": says(machine("frozen")), // so that nothing is made of it
				op.route:          hangsUp,
			})
			b := s.backend()
			if _, err := b.Health(t.Context()); err != nil {
				t.Fatal(err)
			}
			e := asError(t, op.call(t.Context(), b, "m"))
			if e.Status != 0 || e.Code != smol.CodeUnavailable || e.Op != op.op {
				t.Errorf("got %+v", e)
			}
			if n := s.count(op.route); n != 1 {
				t.Errorf("sent %d times: %q", n, s.requests())
			}
		})
	}
}

// TestGarbledReplies wants no success from a 200 that does not say what was done.
func TestGarbledReplies(t *testing.T) {
	for _, body := range []string{"", "null", "{}", "[]", `"x"`, "<html>", `{"name":""}`, `{"exitCode":null}`, "\x00\x01"} {
		for _, op := range allOperations() {
			switch op.op {
			case "delete", "read file", "logs":
				continue // a status is all there is; bytes are bytes; no lines are no lines
			}
			t.Run(op.op, func(t *testing.T) {
				routes := answers{"GET /machines/m": says(machine("frozen"))}
				routes[op.route] = says(body)
				s := serve(t, routes)
				e := asError(t, op.call(t.Context(), s.backend(), "m"))
				if e.Status != 0 || e.Code != smol.CodeUnknown && e.Code != smol.CodeUnavailable {
					t.Errorf("%q: %+v", body, e)
				}
			})
		}
	}
}

// TestNobodyListens wants each call to say what to do, and that nothing was sent.
func TestNobodyListens(t *testing.T) {
	s := &server{t: t}
	_ = s.listen().Close()
	for _, op := range allOperations() {
		err := op.call(t.Context(), s.backend(), "m")
		e := asError(t, err)
		var dial *net.OpError
		if e.Code != smol.CodeUnavailable || e.Op != op.op || !errors.As(err, &dial) || dial.Op != "dial" || !strings.Contains(e.Hint, "smolvm serve start") {
			t.Errorf("%s: %+v", op.op, e)
		}
	}
}
