package cloud_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

// TestCountedAtTheServer counts what arrives over a real connection, waits and all: TestSentAgain has every operation, in false time.
func TestCountedAtTheServer(t *testing.T) {
	t.Parallel()
	var made atomic.Int32
	makes := func(w http.ResponseWriter, r *http.Request) {
		made.Add(1)
		saysStatus(http.StatusCreated, machine("stopped"))(w, r)
	}
	var asked [2]time.Time
	s := serve(t, answers{
		getRoute:  inTurn(empty(http.StatusServiceUnavailable), hangsUp, says(machine("started"))),
		execRoute: fails(http.StatusInternalServerError, "internal", "broken"),
		"POST /machines": inTurn(func(w http.ResponseWriter, r *http.Request) {
			asked[0] = time.Now()
			limited("2")(w, r)
		}, func(w http.ResponseWriter, r *http.Request) {
			asked[1] = time.Now()
			makes(w, r)
		}),
	})
	svc, err := cloud.New(&cloud.Options{URL: s.url, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	b := svc.Backend()
	if info, err := b.Inspect(t.Context(), id); err != nil || info.ID != id || s.count(getRoute) != 3 {
		t.Errorf("a question: %v, %v after %d requests, want 3", info, err, s.count(getRoute))
	}
	_, err = b.Exec(t.Context(), id, &smol.ExecRequest{Argv: []string{"true"}})
	if e := asError(t, err); e.Status != http.StatusInternalServerError || e.Message != "broken" || s.count(execRoute) != 1 {
		t.Errorf("a command: %v after %d requests, want 1", err, s.count(execRoute))
	}
	info, err := b.Create(t.Context(), &smol.Spec{Name: "web", Image: "alpine"})
	if err != nil || info.ID != id || s.count("POST /machines") != 2 || made.Load() != 1 {
		t.Errorf("a create: %v, %v after %d requests, %d machines; want 2 and one", info, err, s.count("POST /machines"), made.Load())
	}
	if waited := asked[1].Sub(asked[0]); waited < 2*time.Second {
		t.Errorf("the service was asked again after %v, and had said 2s", waited)
	}
}

// TestErrorBodies has each shape that an error comes in on its way to a program: typed, with the status and a message that says something.
func TestErrorBodies(t *testing.T) {
	noise := strings.Repeat("noise \x00\xff", 1<<17) // a MiB
	for _, tt := range []struct {
		name, typ, body, message, code string
	}{
		{"problem", "application/problem+json", `{"title":"Conflict","status":409,"detail":"the name is taken","code":"name_taken"}`, "the name is taken", "name_taken"},
		{"code, error", "application/json", `{"code":"name_taken","error":"the name is taken"}`, "the name is taken", "name_taken"},
		{"error, code", "application/json", `{"error":"the name is taken","code":"name_taken"}`, "the name is taken", "name_taken"},
		{"text", "text/plain", "the name is taken", "the name is taken", ""},
		{"page", "text/html", "<html><h1>Conflict</h1>", "409 Conflict, text/html: <html><h1>Conflict</h1>", ""},
		{"empty", "", "", "409 Conflict", ""},
		{"noise", "", noise, "409 Conflict", ""},
		{"noise that says it is JSON", "application/json", noise, "409 Conflict", ""},
		{"noise in an error", "application/json", `{"error":"` + strings.Repeat("noise ", 1<<17) + `"}`, "409 Conflict", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer := func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil // no guess
				if tt.typ != "" {
					w.Header().Set("Content-Type", tt.typ)
				}
				w.WriteHeader(http.StatusConflict)
				_, _ = fmt.Fprint(w, tt.body)
			}
			s := serve(t, answers{getRoute: answer, execRoute: answer, "POST /machines": answer, "GET /machines": answer})
			b := s.backend()
			for _, op := range everything {
				switch op.name {
				case "inspect", "exec", "create", "list":
				default:
					continue
				}
				err := op.do(t.Context(), b, id)
				e := asError(t, err)
				if !errors.Is(err, smol.ErrConflict) && !errors.Is(err, smol.ErrExists) || e.Status != http.StatusConflict || !strings.HasPrefix(e.Message, tt.message) || e.ServerCode != tt.code {
					t.Errorf("%s: %#v", op.name, e)
				}
				if len(e.Error()) > 10<<10 || strings.Contains(e.Error(), "\x00") || !utf8.ValidString(e.Error()) || e.RequestID != "req-1" {
					t.Errorf("%s: an error of %d bytes, request %q", op.name, len(e.Error()), e.RequestID)
				}
			}
		})
	}
}
