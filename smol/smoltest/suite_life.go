package smoltest

import (
	"context"
	"errors"
	"io/fs"

	"github.com/smol-machines/smol-go/internal/randhex"
	"github.com/smol-machines/smol-go/smol"
)

var lifeRows = []row{
	{"start/returns when it runs", testStart},
	{"start/again", testStartAgain},
	{"start/by a command", testStartByCommand},
	{"stop/keeps disks and ends commands", testStop},
	{"stop/again", testStopAgain},
	{"delete/gone", testDelete},
	{"delete/running", testDeleteRunning},
	{"delete/name can be used again", testNameAgain},
	{"missing/start, stop, delete, exec", testMissing},
	{"wait/not for a stopped one", testWait},
}

// wantState fails unless the fleet says that the machine is in that state.
func (r *rowTest) wantState(what, id string, want smol.State) {
	r.Helper()
	info, err := r.backend.Inspect(r.ctx, id)
	if err != nil || info.State != want {
		r.Errorf("%s: %+v, %v, want %s", what, info, err, want)
	}
}

func testStart(r *rowTest) {
	m := r.record()
	info, err := r.backend.Start(r.ctx, m.ID, nil)
	if err != nil || info.State != smol.StateRunning || info.ID != m.ID {
		r.Fatalf("start: %+v, %v", info, err)
	}
	r.wantState("after the start", m.ID, smol.StateRunning)
	if err := r.fleet.Machine(m.ID).WaitReady(r.ctx, nil); err != nil {
		r.Errorf("wait: %v", err)
	}
}

// testStartAgain: a start of a machine that runs leaves it and its commands alone.
func testStartAgain(r *rowTest) {
	m := r.machine()
	c := program(m, shHang, "/tmp/pid-"+randhex.String(8))
	if err := c.Start(r.ctx); err != nil {
		r.Fatalf("command: %v", err)
	}
	info, err := r.backend.Start(r.ctx, m.ID(), nil)
	if err != nil || info.State != smol.StateRunning {
		r.Errorf("start on the backend: %+v, %v", info, err)
	}
	if err := m.Start(r.ctx, nil); err != nil {
		r.Errorf("start: %v", err)
	}
	if err := c.Signal(r.ctx, smol.Terminate); err != nil {
		r.Errorf("the command that ran before: %v", err)
	}
	var exit *smol.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.Signal != smol.Terminate {
		r.Errorf("the command that ran before ended with %v", err)
	}
}

// testStartByCommand: a command boots a machine that is stopped.
func testStartByCommand(r *rowTest) {
	m := r.record()
	if got := r.output(program(r.fleet.Machine(m.Name), shPrint, octal([]byte("up")), "")); got != "up" {
		r.Errorf("got %q", got)
	}
	r.wantState("after a command", m.ID, smol.StateRunning)
}

func testStop(r *rowTest) {
	m := r.machine()
	r.write(m, "/workspace/kept", []byte("kept"))
	c := program(m, shHang, "/tmp/pid-"+randhex.String(8))
	if err := c.Start(r.ctx); err != nil {
		r.Fatalf("command: %v", err)
	}
	if err := m.Stop(r.ctx, nil); err != nil {
		r.Errorf("stop: %v", err)
	}
	if r.wantState("after the stop", m.ID(), smol.StateStopped); r.Failed() {
		return // the command goes on
	}
	if err := c.Wait(); err == nil {
		r.Errorf("the command that ran before ended well")
	}
	if err := m.Start(r.ctx, nil); err != nil {
		r.Fatalf("start: %v", err)
	}
	r.wantFile(m, "/workspace/kept", []byte("kept"))
}

func testStopAgain(r *rowTest) {
	m := r.machine()
	for _, what := range []string{"first stop", "second stop"} {
		if err := m.Stop(r.ctx, nil); err != nil {
			r.Errorf("%s: %v", what, err)
		}
		r.wantState(what, m.ID(), smol.StateStopped)
	}
	if info, err := r.backend.Stop(r.ctx, m.ID(), nil); err != nil || info.State != smol.StateStopped {
		r.Errorf("third stop: %+v, %v", info, err)
	}
}

func testDelete(r *rowTest) {
	m := r.record()
	if err := r.backend.Delete(r.ctx, m.ID, nil); err != nil {
		r.Fatalf("delete: %v", err)
	}
	_, err := r.backend.Inspect(r.ctx, m.ID)
	r.wantMissing("inspect", err)
	if r.mine()[m.Name] != nil {
		r.Errorf("it is still listed")
	}
	r.wantMissing("delete again", r.backend.Delete(r.ctx, m.ID, nil))
	gone := r.fleet.Machine(m.ID)
	r.wantMissing("delete of the handle", gone.Delete(r.ctx, nil))
	if err := gone.Discard(); err != nil {
		r.Errorf("discard of what is gone: %v", err)
	}
}

func testDeleteRunning(r *rowTest) {
	m := r.machine()
	c := program(m, shHang, "/tmp/pid-"+randhex.String(8))
	if err := c.Start(r.ctx); err != nil {
		r.Fatalf("command: %v", err)
	}
	if err := m.Delete(r.ctx, nil); err != nil {
		r.Fatalf("delete: %v", err)
	}
	_, err := m.Info(r.ctx)
	r.wantMissing("info", err)
	if err := c.Wait(); err == nil {
		r.Errorf("the command in it ended well")
	}
	r.wantMissing("command", program(m, shExit, "0").Run(r.ctx))
}

// testNameAgain: a name leads to the new machine, which has nothing of the old one.
func testNameAgain(r *rowTest) {
	spec := r.spec()
	first := r.create(spec)
	r.write(first, "/workspace/old", []byte("old"))
	if err := first.Discard(); err != nil {
		r.Fatalf("discard: %v", err)
	}
	second := r.create(spec)
	_, err := second.Stat(r.ctx, "/workspace/old")
	r.wantNoFile("a file of the old machine", err)
}

// wantNoFile fails unless err says that there is no such file, in a machine that is there.
func (r *rowTest) wantNoFile(what string, err error) {
	r.Helper()
	r.want(what, err, fs.ErrNotExist)
}

func testMissing(r *rowTest) {
	m := r.record()
	if err := r.backend.Delete(r.ctx, m.ID, nil); err != nil {
		r.Fatalf("delete: %v", err)
	}
	_, start := r.backend.Start(r.ctx, m.ID, nil)
	_, stop := r.backend.Stop(r.ctx, m.ID, nil)
	_, exec := r.backend.Exec(r.ctx, m.ID, &smol.ExecRequest{Argv: argv(shExit, "0")})
	for what, err := range map[string]error{
		"start": start, "stop": stop, "exec": exec, "delete": r.backend.Delete(r.ctx, m.ID, nil),
	} {
		r.wantMissing(what, err)
	}
	if files, ok := as[smol.FileBackend](r.backend); ok {
		body, _, err := files.Download(r.ctx, m.ID, "/etc/hostname")
		if err == nil {
			_ = body.Close()
		}
		r.wantMissing("download", err)
		if errors.Is(err, fs.ErrNotExist) {
			r.Errorf("a machine that is missing looks as a file that is missing: %v", err)
		}
	}
}

func testWait(r *rowTest) {
	m := r.machine()
	if err := m.WaitReady(r.ctx, nil); err != nil {
		r.Errorf("wait for one that runs: %v", err)
	}
	if err := m.Stop(r.ctx, nil); err != nil {
		r.Fatalf("stop: %v", err)
	}
	var state *smol.StateError
	if err := m.WaitReady(r.ctx, nil); !errors.As(err, &state) || state.Got != smol.StateStopped {
		r.Errorf("wait for one that is stopped: %v", err)
	}
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	r.want("wait, cancelled", m.WaitReady(ctx, nil), context.Canceled)
}
