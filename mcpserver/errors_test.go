package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

func TestErrorCodes(t *testing.T) {
	t.Parallel()
	of := func(c smol.Code) error { return &smol.Error{Code: c, Message: "words", Hint: "do this"} }
	tests := []struct {
		err  error
		code mcpserver.ErrorCode
		want string
	}{
		{of(smol.CodeNotFound), mcpserver.CodeNotFound, "do this"},
		{of(smol.CodeExists), mcpserver.CodeConflict, ""},
		{of(smol.CodeConflict), mcpserver.CodeConflict, ""},
		{of(smol.CodeInvalid), mcpserver.CodeInvalid, ""},
		{of(smol.CodeUnauthenticated), mcpserver.CodeUnauthorized, ""},
		{of(smol.CodePermissionDenied), mcpserver.CodeForbidden, ""},
		{of(smol.CodeRateLimited), mcpserver.CodeRateLimited, ""},
		{&smol.Error{Code: smol.CodeRateLimited, Message: "words", Hint: "do this", RetryAfter: 1500 * time.Millisecond}, mcpserver.CodeRateLimited, "again in 2 s"},
		{of(smol.CodeUnavailable), mcpserver.CodeUnavailable, ""},
		{of(smol.CodeUnsupported), mcpserver.CodeUnsupported, ""},
		{of(smol.CodeInternal), mcpserver.CodeInternal, ""},
		{of(smol.CodeUnknown), mcpserver.CodeInternal, ""},
		{errors.New("strange"), mcpserver.CodeInternal, "strange"},
		{context.DeadlineExceeded, mcpserver.CodeTimeout, ""},
		{&smol.StateError{Want: smol.StateRunning, Got: smol.StateFailed, Reason: "disk full"}, mcpserver.CodeConflict, "disk full"},
		{&smol.StateError{Want: smol.StateRunning, Got: smol.StateFrozen}, mcpserver.CodeConflict, "Delete its branches"},
		{&smol.StateError{Want: smol.StateRunning, Got: smol.StateUnreachable}, mcpserver.CodeConflict, "stop-machine"},
		{&smol.StateError{Want: smol.StateRunning, Got: smol.StatePaused}, mcpserver.CodeConflict, "No tool here"},
		{&smol.Error{Code: smol.CodeConflict, Message: "words", Hint: "first this; then Machine.Stop; at last that"}, mcpserver.CodeConflict, "first this; at last that"},
		{&smol.Error{Code: smol.CodeUnavailable, Message: "no smolvm", Hint: "install it", Err: local.ErrNotServed}, mcpserver.CodeLocalUnavailable, "install it"},
		{&smol.Error{Code: smol.CodeUnsupported, Message: "old", Err: local.ErrTooOld}, mcpserver.CodeSmolvmTooOld, ""},
	}
	for _, tt := range tests {
		s := serve(t, func(o *mcpserver.Options) {
			o.Config.Targets, o.Local = "local", mcpserver.FixedFleet(smol.NewFleet(&deadBackend{err: tt.err}))
		})
		c := connect(t, s.Server, nil)
		if text := c.fails(tt.code, "get-machine", args{"name": "x"}); !strings.Contains(text, tt.want) {
			t.Errorf("%v: %q lacks %q", tt.err, text, tt.want)
		}
	}
}

// TestPanicIsAnAnswer holds that a panic is told as a failure and that the server goes on.
func TestPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *mcpserver.Options) {
		o.Config.Targets, o.Local = "local", mcpserver.FixedFleet(smol.NewFleet(&deadBackend{panic: "kaboom"}))
	})
	c := connect(t, s.Server, nil)
	for range 2 {
		if text := c.fails(mcpserver.CodeInternal, "get-machine", args{"name": "x"}); strings.Contains(text, "kaboom") {
			t.Errorf("the client is told of the inside: %s", text)
		}
	}
	if !strings.Contains(s.log.String(), "kaboom") {
		t.Error("the log does not tell of the panic")
	}
}

// TestArgumentsAreNotLogged looks for what a caller sent, and for what came back, in the log.
func TestArgumentsAreNotLogged(t *testing.T) {
	t.Parallel()
	s, _ := locally(t, nil)
	c := connect(t, s.Server, nil)
	c.call("create-machine", args{"image": "alpine", "name": "box", "network": "open", "env": args{"WHO": "s3cret-env"}})
	c.call("run-command", args{"name": "box", "command": "say s3cret-word", "stdin": "s3cret-in"})
	c.call("write-file", args{"name": "box", "path": "/workspace/s", "content": "s3cret-file"})
	if log := s.log.String(); strings.Contains(log, "s3cret") || !strings.Contains(log, "run-command") {
		t.Errorf("the log: %s", log)
	}
}

// slowSource is a fleet that is not there before the calls end.
type slowSource struct{ mcpserver.FleetSource }

func (slowSource) Fleet(ctx context.Context) (*smol.Fleet, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestCallsEndAtLast holds that calls that nothing answers end, and that those beyond the limit are refused at once.
func TestCallsEndAtLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, func(o *mcpserver.Options) { o.Config.Targets, o.Local = "local", slowSource{unreachable()} })
		c := connect(t, s.Server, nil)
		const calls = 400
		answers := make(chan string, calls)
		for range calls {
			go func() { answers <- textOf(t, c.raw("get-machine", args{"name": "x"})) }()
		}
		count := map[string]int{}
		for range calls {
			code, _, _ := strings.Cut(<-answers, ":")
			count[code]++
		}
		if count["RATE_LIMITED"] != calls-128-256 || count["TIMEOUT"] != 128+256 {
			t.Errorf("the answers: %v", fmt.Sprint(count))
		}
	})
}
