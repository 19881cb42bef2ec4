package smoltest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

var createRows = []row{
	{"create/runs", testCreate},
	{"create/record", testRecord},
	{"create/environment and directory", testCreateEnv},
	{"create/name taken", testNameTaken},
	{"create/hostile names", testHostileNames},
	{"create/image missing", testImageMissing},
	{"create/labels", testLabels},
	{"create/arguments are not written", testSpecKept},
	{"create/cancelled meanwhile", testCreateCancelledMeanwhile},
	{"create/run once", testRunOnce},
}

// testCreate: what Create returns runs and is what was asked for.
func testCreate(r *rowTest) {
	before := time.Now().Add(-5 * time.Minute) // clocks differ
	spec := r.spec()
	m := r.create(spec)
	for _, ref := range []string{m.ID(), spec.Name} {
		info, err := r.fleet.Machine(ref).Info(r.ctx)
		if err != nil {
			r.Fatalf("info of %s: %v", ref, err)
		}
		if info.Name != spec.Name || info.ID != m.ID() || info.State != smol.StateRunning || info.RawState == "" {
			r.Errorf("info of %s: %+v, want %s running with the id %s", ref, info, spec.Name, m.ID())
		}
		if info.CreatedAt.Before(before) {
			r.Errorf("created at %v", info.CreatedAt)
		}
		if info.Resources.CPUs != 1 || info.Resources.MemoryMiB != 512 {
			r.Errorf("resources: %+v", info.Resources)
		}
		if info.Network.Open != spec.Network.Open {
			r.Errorf("network: %+v", info.Network)
		}
	}
	if err := program(m, shExit, "0").Run(r.ctx); err != nil {
		r.Errorf("a command in the machine: %v", err)
	}
}

// testRecord: Create on the backend makes one machine, which Inspect then tells.
func testRecord(r *rowTest) {
	made := r.record()
	info, err := r.backend.Inspect(r.ctx, made.ID)
	if err != nil || info.ID != made.ID || info.Name != made.Name {
		r.Fatalf("inspect: %+v, %v", info, err)
	}
	n := 0
	for info, err := range r.backend.List(r.ctx, nil) {
		if err != nil {
			r.Fatalf("list: %v", err)
		}
		if strings.HasPrefix(info.Name, r.o.Prefix) {
			n++
		}
	}
	if n != 1 {
		r.Errorf("there are %d machines of the suite, want 1", n)
	}
}

// testCreateEnv: environment and directory of the Spec reach commands of every handle.
func testCreateEnv(r *rowTest) {
	spec := r.spec()
	spec.Env = map[string]string{"SUITE_A": "it's \"a\"", "SUITE_B": "from spec"}
	spec.Dir = "/tmp"
	m := r.create(spec)
	for what, m := range map[string]*smol.Machine{"the handle": m, "another handle": r.fleet.Machine(spec.Name)} {
		c := program(m, shEnv)
		c.Env = []string{"SUITE_B=own"}
		if got := r.output(c); got != "it's \"a\"|own||" {
			r.Errorf("environment, %s: %q", what, got)
		}
		if got := r.output(program(m, shPwd)); got != "/tmp\n" {
			r.Errorf("directory, %s: %q", what, got)
		}
	}
}

func testNameTaken(r *rowTest) {
	m := r.machine()
	r.write(m, "/workspace/kept", []byte("first"))
	spec := r.spec()
	spec.Name = m.Name()
	second, err := r.fleet.Create(r.ctx, spec, nil)
	if err == nil {
		r.discardLater(second)
	}
	r.want("create", err, smol.ErrExists)
	_, err = r.backend.Create(r.ctx, &spec)
	r.want("create on the backend", err, smol.ErrExists)
	r.wantFile(m, "/workspace/kept", []byte("first"))
	if info, err := r.fleet.Machine(m.Name()).Info(r.ctx); err != nil || info.ID != m.ID() {
		r.Errorf("the name leads to %+v, %v", info, err)
	}
}

// hostileNames are no names of machines.
var hostileNames = []string{
	"..", ".", "a/b", "/", "a\\b", "a\x00b", "a=b", "a b", "a\nb", "-a", "a-", "a--b", "ü", "\xff", "%2e%2e", "a?b", "a#b", strings.Repeat("a", 129),
}

func testHostileNames(r *rowTest) {
	for _, name := range hostileNames {
		spec := r.spec()
		spec.Name = name
		m, err := r.fleet.Create(r.ctx, spec, nil)
		if err == nil {
			r.discardLater(m)
		}
		r.want("create "+name, err, smol.ErrInvalid)
		_, err = r.backend.Create(r.ctx, &spec)
		r.want("create on the backend "+name, err, smol.ErrInvalid)
	}
}

func testImageMissing(r *rowTest) {
	spec := r.spec()
	spec.Image, spec.Network.Open = "registry.invalid/missing:none", true
	m, err := r.fleet.Create(r.ctx, spec, nil)
	if err == nil {
		r.discardLater(m)
		r.Fatalf("a machine of an image that does not exist was made")
	}
	var e *smol.Error
	var state *smol.StateError
	if !errors.As(err, &e) && !errors.As(err, &state) {
		r.Errorf("an error of type %T: %v", err, err)
	}
	r.wantNone(spec.Name)
}

// testLabels: labels are kept and found again, or refused; never dropped.
func testLabels(r *rowTest) {
	spec := r.spec()
	spec.Labels = map[string]string{"suite": "yes"}
	m, err := r.fleet.Create(r.ctx, spec, nil)
	if errors.Is(err, errors.ErrUnsupported) {
		r.wantNone(spec.Name)
		for _, err := range r.fleet.List(r.ctx, &smol.ListOptions{Labels: spec.Labels}) {
			r.want("list by labels, which the fleet has not", err, errors.ErrUnsupported)
			r.skip("no labels")
		}
		r.Fatalf("a list by labels, which the fleet has not, is empty")
	}
	if err != nil {
		r.Fatalf("create: %v", err)
	}
	r.discardLater(m)
	other := r.record()
	if info, err := m.Info(r.ctx); err != nil || len(info.Labels) != 1 || info.Labels["suite"] != "yes" {
		r.Errorf("labels: %+v, %v", info, err)
	}
	var found []string
	for info, err := range r.fleet.List(r.ctx, &smol.ListOptions{Labels: spec.Labels}) {
		if err != nil {
			r.Fatalf("list: %v", err)
		}
		found = append(found, info.ID)
	}
	if !slices.Contains(found, m.ID()) || slices.Contains(found, other.ID) {
		r.Errorf("the list by labels has %q, want %s and not %s", found, m.ID(), other.ID)
	}
}

// testSpecKept: what the caller gave is as it was.
func testSpecKept(r *rowTest) {
	spec := r.spec()
	spec.Env = map[string]string{"SUITE_A": "1"}
	spec.Command = []string{"sh", "-c", "while true; do sleep 3600; done"}
	if spec.Image == "" {
		spec.Command = nil
	}
	given := spec
	given.Env, given.Command = map[string]string{"SUITE_A": "1"}, slices.Clone(spec.Command)
	info, err := r.backend.Create(r.ctx, &given)
	if err != nil {
		r.Fatalf("create: %v", err)
	}
	r.discardLater(r.fleet.Machine(info.ID))
	same := len(given.Env) == 1 && given.Env["SUITE_A"] == "1" && slices.Equal(given.Command, spec.Command) && given.Labels == nil &&
		given.Name == spec.Name && given.Dir == spec.Dir && given.Network.Open == spec.Network.Open && given.Resources == spec.Resources
	if !same {
		r.Errorf("the spec was written: %+v", given)
	}
}

func testCreateCancelled(r *rowTest) {
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	spec := r.spec()
	_, err := r.fleet.Create(ctx, spec, nil)
	r.want("create", err, context.Canceled)
	_, err = r.backend.Create(ctx, &spec)
	r.want("create on the backend", err, context.Canceled)
	r.wantNone(spec.Name)
}

// testCreateCancelledMeanwhile ends the context at each step of a create.
func testCreateCancelledMeanwhile(r *rowTest) {
	for what, bend := range map[string]func(b *bent, cancel func()){
		"at the record": func(b *bent, cancel func()) {
			b.create = func(ctx context.Context, spec *smol.Spec) (*smol.Info, error) {
				info, err := b.Backend.Create(ctx, spec)
				cancel()
				return info, err
			}
		},
		"with the answer to the record lost": func(b *bent, cancel func()) {
			b.create = func(ctx context.Context, spec *smol.Spec) (*smol.Info, error) {
				_, _ = b.Backend.Create(ctx, spec)
				cancel()
				return nil, ctx.Err()
			}
		},
		"before the start": func(b *bent, cancel func()) {
			b.start = func(ctx context.Context, id string, opts *smol.StartOptions) (*smol.Info, error) {
				cancel()
				return b.Backend.Start(ctx, id, opts)
			}
		},
		"at the first command": func(b *bent, cancel func()) {
			b.exec = func(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
				cancel()
				return b.Backend.Exec(ctx, id, req)
			}
		},
	} {
		ctx, cancel := context.WithCancel(r.ctx)
		spec := r.spec()
		m, err := r.between(func(b *bent) { bend(b, cancel) }).Create(ctx, spec, nil)
		if err == nil {
			r.discardLater(m)
		}
		cancel()
		r.want(what, err, context.Canceled)
		r.wantNone(spec.Name)
	}
}

// testRunOnce: the machine of a single command is gone after it, also when it fails.
func testRunOnce(r *rowTest) {
	spec := r.spec()
	res, err := r.fleet.RunOnce(r.ctx, spec, argv(shPrint, octal([]byte("out\r\n")), octal([]byte("err"))), nil)
	if err != nil {
		r.Fatalf("run: %v", err)
	}
	r.same("output", res.Stdout, []byte("out\r\n"))
	r.same("error output", res.Stderr, []byte("err"))
	r.wantNone(spec.Name)
	spec = r.spec()
	_, err = r.fleet.RunOnce(r.ctx, spec, argv(shExit, "9"), nil)
	var exit *smol.ExitError
	if !errors.As(err, &exit) || exit.Code != 9 {
		r.Errorf("a command that exits with 9: %v", err)
	}
	r.wantNone(spec.Name)
}
