package smoltest

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/smol-machines/smol-go/smol"
)

var listRows = []row{
	{"list/empty", testListEmpty},
	{"list/each once", testListEach},
	{"list/left early and again", testListLeft},
	{"list/cancelled", testListCancelled},
	{"inspect/missing", testInspectMissing},
	{"inspect/hostile ids", testHostileIDs},
	{"inspect/the right machine", testRightMachine},
	{"inspect/cancelled", testCancelled},
}

// mine returns the machines of the suite, by name.
func (r *rowTest) mine() map[string]*smol.Info {
	r.Helper()
	infos := map[string]*smol.Info{}
	for info, err := range r.fleet.List(r.ctx, nil) {
		switch {
		case err != nil:
			r.Fatalf("list: %v", err)
		case infos[info.Name] != nil:
			r.Errorf("%s is listed twice", info.Name)
		case strings.HasPrefix(info.Name, r.o.Prefix):
			infos[info.Name] = info
		}
	}
	return infos
}

func testListEmpty(r *rowTest) {
	for name, info := range r.mine() {
		r.Errorf("machine %s of the suite's prefix exists and is %s", name, info.State)
	}
}

func testListEach(r *rowTest) {
	running, recorded := r.machine(), r.record()
	infos := r.mine()
	if len(infos) != 2 {
		r.Errorf("%d machines are listed, want 2", len(infos))
	}
	for _, name := range []string{running.Name(), recorded.Name} {
		info, err := r.backend.Inspect(r.ctx, name)
		if err != nil {
			r.Fatalf("inspect %s: %v", name, err)
		}
		got := infos[name]
		if got == nil || got.ID != info.ID || got.State == "" || got.Image != info.Image {
			r.Errorf("%s is listed as %+v, want %+v", name, got, info)
		}
	}
	if got := infos[running.Name()]; got != nil && got.State != smol.StateRunning {
		r.Errorf("the machine that runs is listed as %s", got.State)
	}
}

// testListMany has more machines than a page of any service.
func testListMany(r *rowTest) {
	if r.o.Many < 0 {
		r.skip("so many machines are not wanted")
	}
	var mu sync.Mutex
	var names []string
	var errs []error
	var wg sync.WaitGroup
	work := make(chan struct{}, r.o.Many)
	for range r.o.Many {
		work <- struct{}{}
	}
	close(work)
	for range 4 {
		wg.Go(func() {
			for range work {
				spec := r.spec()
				info, err := r.backend.Create(r.ctx, &spec)
				mu.Lock()
				if err == nil {
					names = append(names, info.Name)
					r.discardLater(r.fleet.Machine(info.ID))
				}
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		r.Fatalf("create: %v", err)
	}
	infos := r.mine()
	if len(infos) != len(names) {
		r.Errorf("%d machines are listed, want %d", len(infos), len(names))
	}
	for _, name := range names {
		if infos[name] == nil {
			r.Errorf("%s is not listed", name)
			return
		}
	}
}

// testListLeft: ranging can end early, and ranging again asks again.
func testListLeft(r *rowTest) {
	r.record()
	list := r.fleet.List(r.ctx, nil)
	for range list {
		break
	}
	second := r.record()
	found := 0
	for info, err := range list {
		if err != nil {
			r.Fatalf("list: %v", err)
		}
		if info.Name == second.Name {
			found++
		}
	}
	if found != 1 {
		r.Errorf("a machine made meanwhile is listed %d times", found)
	}
}

func testListCancelled(r *rowTest) {
	r.record()
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	var errs []error
	for info, err := range r.backend.List(ctx, nil) {
		if info != nil {
			r.Errorf("%s is listed after the end of the context", info.Name)
		}
		errs = append(errs, err)
	}
	if len(errs) != 1 {
		r.Fatalf("errors %v, want one", errs)
	}
	r.want("list", errs[0], context.Canceled)
}

func testInspectMissing(r *rowTest) {
	name := r.newName()
	_, err := r.backend.Inspect(r.ctx, name)
	r.wantMissing("inspect on the backend", err)
	m := r.fleet.Machine(name)
	_, err = m.Info(r.ctx)
	r.wantMissing("info", err)
	r.wantMissing("wait", m.WaitReady(r.ctx, nil))
	r.wantMissing("command", program(m, shExit, "0").Run(r.ctx))
	_, err = m.ReadFile(r.ctx, "/etc/hostname")
	r.wantMissing("read file", err)
	if m.ID() != "" {
		r.Errorf("a machine that does not exist has the id %s", m.ID())
	}
}

// testHostileIDs: none of these leaves its place in a URL, and none is a machine.
func testHostileIDs(r *rowTest) {
	bystander := r.record()
	ids := append([]string{"", bystander.ID + "/", "../machines/" + bystander.ID, bystander.ID + "/../" + bystander.ID, bystander.ID + "?x=1", bystander.ID + "#x"},
		hostileNames...)
	for _, id := range ids {
		_, inspect := r.backend.Inspect(r.ctx, id)
		_, start := r.backend.Start(r.ctx, id, nil)
		_, stop := r.backend.Stop(r.ctx, id, nil)
		_, exec := r.backend.Exec(r.ctx, id, &smol.ExecRequest{Argv: argv(shExit, "0")})
		for what, err := range map[string]error{
			"inspect": inspect, "start": start, "stop": stop, "exec": exec, "delete": r.backend.Delete(r.ctx, id, nil),
		} {
			var e *smol.Error
			if !errors.As(err, &e) || !errors.Is(err, smol.ErrInvalid) && !errors.Is(err, smol.ErrNotFound) {
				r.Errorf("%s of the id %.40q: %v", what, id, err)
			}
		}
	}
	if info, err := r.backend.Inspect(r.ctx, bystander.ID); err != nil || info.State == smol.StateRunning {
		r.Errorf("the machine beside them is now %+v, %v", info, err)
	}
}

// testRightMachine: each answer is about the machine that was asked about.
func testRightMachine(r *rowTest) {
	a, b := r.record(), r.record()
	for _, m := range []*smol.Info{a, b} {
		info, err := r.backend.Inspect(r.ctx, m.ID)
		if err != nil || info.ID != m.ID || info.Name != m.Name {
			r.Errorf("inspect %s: %+v, %v", m.Name, info, err)
		}
	}
	info, err := r.backend.Start(r.ctx, a.ID, nil)
	if err != nil || info.ID != a.ID {
		r.Fatalf("start %s: %+v, %v", a.Name, info, err)
	}
	if info, err := r.backend.Inspect(r.ctx, b.ID); err != nil || info.State == smol.StateRunning {
		r.Errorf("the other machine: %+v, %v", info, err)
	}
	if info, err = r.backend.Stop(r.ctx, b.ID, nil); err != nil || info.ID != b.ID {
		r.Errorf("stop %s: %+v, %v", b.Name, info, err)
	}
	if info, err := r.backend.Inspect(r.ctx, a.ID); err != nil || info.State != smol.StateRunning {
		r.Errorf("the machine that runs, after a stop of another: %+v, %v", info, err)
	}
}

// testCancelled: calls whose context has ended say so and do nothing.
func testCancelled(r *rowTest) {
	m := r.machine()
	id := m.ID()
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	_, inspect := r.backend.Inspect(ctx, id)
	_, start := r.backend.Start(ctx, id, nil)
	_, stop := r.backend.Stop(ctx, id, nil)
	_, exec := r.backend.Exec(ctx, id, &smol.ExecRequest{Argv: argv(shAppend, "/workspace/ran")})
	_, read := m.ReadFile(ctx, "/etc/hostname")
	for what, err := range map[string]error{
		"inspect": inspect, "start": start, "stop": stop, "exec": exec, "read file": read, "delete": r.backend.Delete(ctx, id, nil),
		"command": program(m, shAppend, "/workspace/ran").Run(ctx), "write file": m.WriteFile(ctx, "/workspace/ran", nil, nil),
	} {
		r.want(what, err, context.Canceled)
	}
	if info, err := m.Info(r.ctx); err != nil || info.State != smol.StateRunning {
		r.Errorf("the machine is now %+v, %v", info, err)
	}
	_, err := m.Stat(r.ctx, "/workspace/ran")
	r.wantNoFile("what a cancelled command would have written", err)
}
