package smoltest

import (
	"context"
	"errors"

	"github.com/smol-machines/smol-go/smol"
)

// lostRows are about answers that do not arrive: between the library and the backend, and on the backend's own wire.
var lostRows = []row{
	{"lost/answer to a create", testLostCreate},
	{"lost/answer to a command", testLostExec},
	{"lost/answer to a delete", testLostDelete},
	{"lost/on the wire: create", testWireCreate},
	{"lost/on the wire: command", testWireExec},
	{"lost/on the wire: start, stop, delete", testWireLife},
	{"lost/on the wire: refusals", testWireRefusals},
}

// errLost is what a backend says when it does not know what became of a request.
func errLost() error {
	return &smol.Error{Code: smol.CodeUnavailable, Message: "the answer was lost on purpose"}
}

func testLostCreate(r *rowTest) {
	creates := 0
	fleet := r.between(func(b *bent) {
		b.create = func(ctx context.Context, spec *smol.Spec) (*smol.Info, error) {
			creates++
			if _, err := b.Backend.Create(ctx, spec); err != nil {
				return nil, err
			}
			return nil, errLost()
		}
	})
	spec := r.spec()
	m, err := fleet.Create(r.ctx, spec, nil)
	if err != nil {
		r.Fatalf("create: %v", err)
	}
	r.discardLater(m)
	if n := len(r.mine()); n != 1 || creates != 1 {
		r.Errorf("%d machines after %d creates, want one of each", n, creates)
	}
	if err := program(m, shExit, "0").Run(r.ctx); err != nil {
		r.Errorf("a command in it: %v", err)
	}
	// A name that was taken before stays somebody else's.
	other, err := fleet.Create(r.ctx, spec, nil)
	r.want("create again", err, smol.ErrExists)
	if other != nil {
		r.Errorf("the machine that was there is taken for a new one")
	}
}

func testLostExec(r *rowTest) {
	m := r.machine()
	lost := 0
	fleet := r.between(func(b *bent) {
		b.exec = func(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
			res, err := b.Backend.Exec(ctx, id, req)
			if lost++; lost == 1 && err == nil {
				return nil, errLost()
			}
			return res, err
		}
	})
	if err := program(fleet.Machine(m.ID()), shAppend, "/workspace/ran").Run(r.ctx); err != nil {
		r.Errorf("a command whose answer was lost: %v", err)
	}
	r.wantFile(m, "/workspace/ran", []byte("x\n"))
}

func testLostDelete(r *rowTest) {
	m := r.record()
	deletes := 0
	fleet := r.between(func(b *bent) {
		b.delete = func(ctx context.Context, id string, opts *smol.DeleteOptions) error {
			deletes++
			if err := b.Backend.Delete(ctx, id, opts); err != nil {
				return err
			}
			return errLost()
		}
	})
	if err := fleet.Machine(m.ID).Discard(); err != nil {
		r.Errorf("discard: %v", err)
	}
	if deletes != 1 {
		r.Errorf("deleted %d times", deletes)
	}
	r.wantNone(m.Name)
}

// route returns the path of the fleet's machines.
func (r *rowTest) route() string {
	r.Helper()
	if r.o.Fault == nil {
		r.skip("the service cannot be made to fail")
	}
	switch r.backend.Traits().Fleet {
	case "local":
		return "/api/v1/machines"
	case "cloud":
		return "/v1/machines"
	}
	r.skip("the routes of this fleet are not known")
	return ""
}

func testWireCreate(r *rowTest) {
	lost := r.o.Fault(Fault{Method: "POST", Path: r.route(), Nth: 1, Action: LoseReply})
	m := r.machine()
	if n := len(r.mine()); n != 1 || lost.Fired() != 1 {
		r.Errorf("%d machines after %d lost answers, want one of each", n, lost.Fired())
	}
	if err := program(m, shExit, "0").Run(r.ctx); err != nil {
		r.Errorf("a command in it: %v", err)
	}
	// The service makes the machine, and its answer does not come before the context ends.
	hang := r.o.Fault(Fault{Method: "POST", Path: r.route(), Nth: 1, Action: Hang, Work: true})
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	go func() {
		for hang.Fired() == 0 && pause(ctx) == nil {
		}
		cancel()
	}()
	spec := r.spec()
	_, err := r.fleet.Create(ctx, spec, nil)
	r.want("a create that is cancelled on the wire", err, context.Canceled)
	r.wantNone(spec.Name)
}

func testWireExec(r *rowTest) {
	m := r.machine()
	lost := r.o.Fault(Fault{Method: "POST", Path: r.route() + "/*/exec", Nth: 1, Action: LoseReply})
	_, err := r.backend.Exec(r.ctx, m.ID(), &smol.ExecRequest{Argv: argv(shAppend, "/workspace/wire")})
	r.want("exec", err, smol.ErrUnavailable)
	r.wantFile(m, "/workspace/wire", []byte("x\n"))
	if lost.Fired() != 1 {
		r.Errorf("%d answers were lost, want 1", lost.Fired())
	}
	r.o.Fault(Fault{Method: "POST", Path: r.route() + "/*/exec", Nth: 1, Action: LoseReply})
	if err := program(m, shAppend, "/workspace/ran").Run(r.ctx); err != nil {
		r.Errorf("a command whose answer was lost: %v", err)
	}
	r.wantFile(m, "/workspace/ran", []byte("x\n"))
}

func testWireLife(r *rowTest) {
	m := r.fleet.Machine(r.record().ID)
	lose := func(method, path string) {
		r.o.Fault(Fault{Method: method, Path: r.route() + path, Nth: 1, Action: LoseReply})
	}
	lose("POST", "/*/start")
	if err := m.Start(r.ctx, nil); err != nil {
		r.Errorf("start: %v", err)
	}
	r.wantState("after the start", m.ID(), smol.StateRunning)
	lose("POST", "/*/stop")
	if err := m.Stop(r.ctx, nil); err != nil {
		r.Errorf("stop: %v", err)
	}
	r.wantState("after the stop", m.ID(), smol.StateStopped)
	lose("DELETE", "/*")
	if err := m.Discard(); err != nil {
		r.Errorf("discard: %v", err)
	}
	r.wantNone(m.Name())
}

// testWireRefusals: whatever a service answers is a typed error with its status.
func testWireRefusals(r *rowTest) {
	id := r.record().ID
	for _, f := range []struct {
		status     int
		kind, body string
		want       error
	}{
		{401, "application/json", `{"error":"who are you","code":"UNAUTHORIZED"}`, smol.ErrUnauthenticated},
		{403, "text/plain", "no", smol.ErrPermission},
		{400, "application/problem+json", `{"title":"Bad Request","status":400,"detail":"no"}`, smol.ErrInvalid},
		{409, "text/html", "<html><body>conflict</body></html>", smol.ErrConflict},
		{500, "", "", nil},
		{200, "application/json", "{", nil},
		{200, "application/json", "{}", nil},
	} {
		r.o.Fault(Fault{Method: "POST", Path: r.route() + "/*/exec", Nth: 1, Action: Fail, Status: f.status, ContentType: f.kind, Body: f.body})
		res, err := r.backend.Exec(r.ctx, id, &smol.ExecRequest{Argv: argv(shExit, "0")})
		var e *smol.Error
		if !errors.As(err, &e) || f.want != nil && !errors.Is(err, f.want) || e.Message == "" || f.status >= 400 && e.Status != f.status {
			r.Errorf("%d %q: %+v, %v", f.status, f.body, res, err)
		}
	}
}
