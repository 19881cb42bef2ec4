package smoltest

import (
	"errors"
	"strings"

	"github.com/smol-machines/smol-go/smol"
)

var capabilityRows = []row{
	{"stream/output and exit", testStream},
	{"logs/lines", testLogs},
	{"branch/copy", testBranch},
	{"branch/refused", testBranchRefused},
	{"images/pull", testImages},
	{"capability/lacking", testLacking},
}

func testStream(r *rowTest) {
	r.need(smol.CapabilityStream)
	m := r.machine()
	text := map[string]string{}
	var last smol.Event
	for ev, err := range m.Stream(r.ctx, argv(shPrint, octal([]byte("one\ntwo\n")), octal([]byte("err\n"))), nil) {
		if err != nil {
			r.Fatalf("stream: %v", err)
		}
		text[ev.Stream] += ev.Text
		last = ev
	}
	if strings.TrimSuffix(text["stdout"], "\n") != "one\ntwo" || strings.TrimSuffix(text["stderr"], "\n") != "err" {
		r.Errorf("output: %q", text)
	}
	if !last.Exited || last.ExitCode != 0 {
		r.Errorf("the last event: %+v", last)
	}
	for ev, err := range m.Stream(r.ctx, argv(shExit, "7"), nil) {
		if last = ev; err != nil {
			r.Fatalf("stream: %v", err)
		}
	}
	if !last.Exited || last.ExitCode != 7 {
		r.Errorf("the last event of a command that exits with 7: %+v", last)
	}
}

// lines returns the console's.
func (r *rowTest) lines(m *smol.Machine, tail int) (lines []string) {
	r.Helper()
	for line, err := range m.Logs(r.ctx, &smol.LogOptions{Tail: tail}) {
		if err != nil {
			r.Fatalf("logs: %v", err)
		}
		lines = append(lines, line)
	}
	return lines
}

func testLogs(r *rowTest) {
	r.need(smol.CapabilityLogs)
	m := r.machine()
	all := r.lines(m, 0)
	for _, tail := range []int{1, -1} {
		if got := r.lines(m, tail); len(got) > max(tail, 0) {
			r.Errorf("with a tail of %d there are %d lines of %d", tail, len(got), len(all))
		}
	}
	for _, err := range r.fleet.Machine(r.newName()).Logs(r.ctx, nil) {
		r.wantMissing("logs of no machine", err)
		return
	}
	r.Errorf("the logs of no machine are empty")
}

// branchable returns a machine that can be branched.
func (r *rowTest) branchable() *smol.Machine {
	r.Helper()
	r.need(smol.CapabilityBranch)
	spec := r.spec()
	spec.Branchable = true
	m, err := r.fleet.Create(r.ctx, spec, nil)
	if errors.Is(err, errors.ErrUnsupported) {
		r.skip("this service does not branch: " + err.Error())
	}
	if err != nil {
		r.Fatalf("create: %v", err)
	}
	r.discardLater(m)
	return m
}

func (r *rowTest) branch(m *smol.Machine) *smol.Machine {
	r.Helper()
	name := r.newName()
	child, err := m.Branch(r.ctx, name, nil)
	if errors.Is(err, errors.ErrUnsupported) {
		r.wantNone(name)
		r.skip("this service does not branch: " + err.Error())
	}
	if err != nil {
		r.Fatalf("branch: %v", err)
	}
	r.discardLater(child)
	if child.Name() != name || child.ID() == m.ID() {
		r.Errorf("the branch %s has the name %s and the id %s", name, child.Name(), child.ID())
	}
	return child
}

// testBranch: a branch has the source's files, and is another machine.
func testBranch(r *rowTest) {
	m := r.branchable()
	r.write(m, "/workspace/f", []byte("both"))
	child := r.branch(m)
	r.wantFile(child, "/workspace/f", []byte("both"))
	if info, err := child.Info(r.ctx); err != nil || info.State != smol.StateRunning || info.Name != child.Name() {
		r.Errorf("the branch is %+v, %v", info, err)
	}
	r.write(child, "/workspace/f", []byte("own"))
	if info, err := m.Info(r.ctx); err == nil && info.State == smol.StateRunning {
		r.wantFile(m, "/workspace/f", []byte("both"))
	}
	again, err := m.Branch(r.ctx, child.Name(), nil)
	if err == nil {
		r.discardLater(again)
	}
	r.want("a branch of a name that is taken", err, smol.ErrExists)
	r.wantFile(child, "/workspace/f", []byte("own"))
}

func testBranchRefused(r *rowTest) {
	r.need(smol.CapabilityBranch)
	plain := r.machine()
	for what, ref := range map[string]string{"not branchable": plain.Name(), "missing": r.newName()} {
		name := r.newName()
		child, err := r.fleet.Machine(ref).Branch(r.ctx, name, nil)
		if err == nil {
			r.discardLater(child)
		}
		if errors.Is(err, errors.ErrUnsupported) {
			r.skip("this service does not branch: " + err.Error())
		}
		if what == "missing" {
			r.wantMissing(what, err)
		} else {
			r.want(what, err, smol.ErrConflict)
		}
		r.wantNone(name)
	}
	_, err := plain.Branch(r.ctx, "a/b", nil)
	r.want("a hostile name", err, smol.ErrInvalid)
}

func testImages(r *rowTest) {
	r.need(smol.CapabilityImages)
	_, err := r.fleet.Machine(r.newName()).PullImage(r.ctx, "alpine:3.20", nil)
	r.wantMissing("pull into no machine", err)
	_, err = r.machine().PullImage(r.ctx, "not an image", nil)
	r.want("pull of what is no image", err, smol.ErrInvalid)
}

// testLacking: what a fleet lacks is said so, by an error that says what to do.
func testLacking(r *rowTest) {
	m := r.fleet.Machine(r.newName())
	for c, call := range map[smol.Capability]func() error{
		smol.CapabilityBranch: func() error { _, err := m.Branch(r.ctx, r.newName(), nil); return err },
		smol.CapabilityImages: func() error { _, err := m.PullImage(r.ctx, "alpine:3.20", nil); return err },
		smol.CapabilityLogs: func() (err error) {
			for _, err = range m.Logs(r.ctx, nil) {
				break
			}
			return err
		},
		smol.CapabilityStream: func() (err error) {
			for _, err = range m.Stream(r.ctx, argv(shExit, "0"), nil) {
				break
			}
			return err
		},
	} {
		var e *smol.Error
		if err := call(); r.fleet.Supports(c) == errors.Is(err, errors.ErrUnsupported) || !errors.As(err, &e) {
			r.Errorf("%s, which the fleet has (%t): %v", c, r.fleet.Supports(c), err)
		} else if !r.fleet.Supports(c) && e.Hint == "" {
			r.Errorf("%s: no hint: %v", c, err)
		}
	}
	if r.fleet.Supports("no such capability") {
		r.Errorf("it has a capability that does not exist")
	}
}
