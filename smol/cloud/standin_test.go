package cloud_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim"
	simcloud "github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/host"
	"github.com/smol-machines/smol-go/internal/sim/script"
	"github.com/smol-machines/smol-go/internal/simtest"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

// programs are those of the stand-in's machines.
func programs(ctx context.Context, c *script.Call) int {
	switch c.Argv[0] {
	case "true":
		return 0
	case "echo":
		fmt.Fprintln(c.Stdout, strings.Join(c.Argv[1:], " "))
		return 0
	case "bytes":
		_, _ = c.Stdout.Write([]byte("\xff\x00\r\n"))
		_, _ = c.Stderr.Write([]byte("e"))
		return 3
	case "env":
		fmt.Fprintln(c.Stdout, c.Getenv("A"), c.Dir)
		return 0
	case "forever":
		<-ctx.Done()
		return 1
	}
	return script.NotFound
}

// standIn is a stand-in of the service and a client of it.
type standIn struct {
	*cloud.Service
	b *cloud.Backend
	h *host.Cloud

	// before and after see each request, named as "POST /v1/machines". What after returns replaces the answer.
	before func(request string)
	after  func(request string) error
}

func newStandIn(t *testing.T, guest sim.Guest, o simcloud.Options) *standIn {
	t.Helper()
	if o.Guest = guest; guest == nil {
		o.Guest = script.New(programs)
	}
	o.Token = token
	h, err := host.StartCloud(&host.CloudOptions{Server: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &standIn{h: h, before: func(string) {}, after: func(string) error { return nil }}
	s.Service = newService(t, &cloud.Options{URL: h.URL(), Token: token, Wrap: s.watch})
	s.b = s.Backend()
	return s
}

// watch puts the hooks around a transport.
func (s *standIn) watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		name := req.Method + " " + req.URL.Path
		s.before(name)
		resp, err := next.RoundTrip(req)
		if failed := s.after(name); failed != nil {
			if err == nil {
				_ = resp.Body.Close()
			}
			return nil, failed
		}
		return resp, err
	})
}

// create makes a machine that runs.
func (s *standIn) create(t *testing.T, spec smol.Spec) *smol.Machine {
	t.Helper()
	if spec.Image == "" {
		spec.Image = "alpine"
	}
	m, err := s.Create(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sent counts requests of a method whose path ends so.
func (s *standIn) sent(method, suffix string) (n int) {
	for _, r := range s.h.Requests() {
		if r.Method == method && strings.HasSuffix(r.Path, suffix) {
			n++
		}
	}
	return n
}

// left are the machines that there are.
func (s *standIn) left(t *testing.T) (names []string) {
	t.Helper()
	for info, err := range s.List(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, info.Name)
	}
	return names
}

// releases are services of all ages and habits.
var releases = map[string]simcloud.Options{
	"newest":    {},
	"oldest":    {Old: simcloud.Oldest(), Errors: simcloud.StyleText, DefaultNetwork: "open"},
	"detaches":  {DetachStarts: true, StartedConflict: true, MirrorImages: true, Errors: simcloud.StyleErrorCode},
	"no files":  {FilesStatus: http.StatusNotFound, Errors: simcloud.StyleEmpty, PlainLogs: true},
	"no route":  {FilesStatus: http.StatusMethodNotAllowed, Errors: simcloud.StyleCodeError},
	"fork only": {Old: simcloud.Old{ForkOnly: true, Running: true, Wrapped: true}, Errors: simcloud.StyleMessage},
}

// TestMainJob borrows a machine on services of each age, uses it in every way, and gives it back.
func TestMainJob(t *testing.T) {
	for name, o := range releases {
		t.Run(name, func(t *testing.T) { mainJob(t, newStandIn(t, nil, o)) })
	}
}

// TestMainJobInRealMachines is the same with machines that run real commands.
func TestMainJobInRealMachines(t *testing.T) {
	guest := simtest.Sandbox(t)
	for _, name := range []string{"newest", "oldest"} {
		t.Run(name, func(t *testing.T) { mainJob(t, newStandIn(t, guest, releases[name])) })
	}
}

func mainJob(t *testing.T, s *standIn) {
	ctx := t.Context()
	m := s.create(t, smol.Spec{
		Name: "web", Env: map[string]string{"A": "b c"}, Dir: "/tmp", Labels: map[string]string{"team": "x"}, Branchable: true, TTL: time.Hour,
	})
	out, err := m.Command("echo", "hello").Output(ctx)
	if err != nil || string(out) != "hello\n" {
		t.Errorf("%q, %v", out, err)
	}
	data := []byte("\x00\xff\r\n" + strings.Repeat("data ", 20_000))
	if err := m.WriteFile(ctx, "/workspace/deep/er/file.bin", data, nil); err != nil {
		t.Error(err)
	}
	if got, err := m.ReadFile(ctx, "/workspace/deep/er/file.bin"); err != nil || string(got) != string(data) {
		t.Errorf("read %d bytes of %d: %v", len(got), len(data), err)
	}
	if _, err := m.ReadFile(ctx, "/workspace/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	info, err := m.Info(ctx)
	if err != nil || info.State != smol.StateRunning || info.DeletesAt.Sub(info.CreatedAt) != time.Hour || !info.Network.Blocked() {
		t.Errorf("%+v, %v", info, err)
	}
	if same, err := s.Machine("web").Info(ctx); err != nil || same.ID != info.ID {
		t.Errorf("by name: %+v, %v", same, err)
	}
	child, err := m.Branch(ctx, "twig", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := child.ReadFile(ctx, "/workspace/deep/er/file.bin"); err != nil || string(got) != string(data) {
		t.Errorf("in the branch: read %d bytes of %d: %v", len(got), len(data), err)
	}
	if _, err := s.Create(ctx, smol.Spec{Name: "web", Image: "alpine"}, nil); !errors.Is(err, smol.ErrExists) {
		t.Errorf("a second machine of the name: %v", err)
	}
	if err := m.Stop(ctx, nil); err != nil {
		t.Error(err)
	}
	if err := m.Start(ctx, nil); err != nil {
		t.Error(err)
	}
	x, ok := cloud.Extend(child)
	if !ok {
		t.Fatal("the branch is no machine of the cloud")
	}
	if u, err := x.DeleteWithUsage(ctx, nil); err != nil || u.Machines != 1 {
		t.Errorf("%+v, %v", u, err)
	}
	if err := m.Delete(ctx, nil); err != nil {
		t.Error(err)
	}
	if left := s.left(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if u, err := x.Usage(ctx); err != nil || u.Machines != 1 {
		t.Errorf("after the delete: %+v, %v", u, err)
	}
}

// TestKeptEnvironment: the service applies what create was given to every command.
func TestKeptEnvironment(t *testing.T) {
	s := newStandIn(t, nil, simcloud.Options{})
	m := s.create(t, smol.Spec{Name: "web", Env: map[string]string{"A": "b c"}, Dir: "/tmp"})
	for name, m := range map[string]*smol.Machine{"same": m, "another": s.Machine("web").Machine} {
		if out, err := m.Command("env").Output(t.Context()); err != nil || string(out) != "b c /tmp\n" {
			t.Errorf("%s handle: %q, %v", name, out, err)
		}
	}
	res, err := s.b.Exec(t.Context(), m.ID(), &smol.ExecRequest{Argv: []string{"env"}})
	if err != nil || string(res.Stdout) != "b c /tmp\n" {
		t.Errorf("without the runner: %+v, %v", res, err)
	}
}

func TestExecOnTheWire(t *testing.T) {
	for name, old := range map[string]bool{"newest": false, "oldest": true} {
		t.Run(name, func(t *testing.T) {
			s := newStandIn(t, nil, simcloud.Options{Old: simcloud.Old{NoB64: old, NoUser: old}})
			id := s.create(t, smol.Spec{Name: "web"}).ID()
			res, err := s.b.Exec(t.Context(), id, &smol.ExecRequest{Argv: []string{"bytes"}})
			want := &smol.ExecResult{ExitCode: 3, Stdout: []byte("\xff\x00\r\n"), Stderr: []byte("e")}
			if old && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("output that the service has changed: %v, %v", res, err)
			}
			if diff := cmp.Diff(want, res); !old && (diff != "" || err != nil) {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if res, err = s.b.Exec(t.Context(), id, &smol.ExecRequest{Argv: []string{"no-such-program"}}); err != nil || res.ExitCode != 127 {
				t.Errorf("a program that does not exist: %+v, %v", res, err)
			}
			res, err = s.b.Exec(t.Context(), id, &smol.ExecRequest{Argv: []string{"forever"}, Timeout: time.Second})
			if err != nil || res.ExitCode != 124 {
				t.Errorf("a command that takes too long: %+v, %v", res, err)
			}
			before := s.sent("POST", "/exec")
			_, err = s.b.Exec(t.Context(), id, &smol.ExecRequest{Argv: []string{"echo"}, User: "app"})
			if sent := s.sent("POST", "/exec") - before; old && (!errors.Is(err, errors.ErrUnsupported) || sent != 1) || !old && (err != nil || sent != 2) {
				t.Errorf("as a user: %v after %d requests", err, sent)
			}
		})
	}
}

func TestStreamOnTheWire(t *testing.T) {
	s := newStandIn(t, nil, simcloud.Options{})
	m := s.create(t, smol.Spec{Name: "web"})
	var out strings.Builder
	exit := -1
	for ev, err := range m.Stream(t.Context(), []string{"echo", "a b"}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if out.WriteString(ev.Text); ev.Exited {
			exit = ev.ExitCode
		}
	}
	if out.String() != "a b\n" || exit != 0 {
		t.Errorf("%q, exit %d", out.String(), exit)
	}
}

func TestLogsAndEventsOnTheWire(t *testing.T) {
	for name, o := range map[string]simcloud.Options{"events": {}, "plain": {PlainLogs: true}} {
		t.Run(name, func(t *testing.T) {
			s := newStandIn(t, nil, o)
			m := s.create(t, smol.Spec{Name: "web"})
			var all []string
			for line, err := range m.Logs(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, line)
			}
			var last []string
			for line, err := range m.Logs(t.Context(), &smol.LogOptions{Tail: 1}) {
				if err != nil {
					t.Fatal(err)
				}
				last = append(last, line)
			}
			if len(all) == 0 || len(last) != 1 || last[0] != all[len(all)-1] {
				t.Errorf("all %q, the last %q", all, last)
			}
			x, _ := cloud.Extend(m)
			var events []*cloud.Event
			for e, err := range x.Events(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				events = append(events, e)
			}
			if len(events) == 0 || events[0].ID == "" || events[0].At.IsZero() || events[0].Message == "" {
				t.Errorf("%+v", events)
			}
		})
	}
}

// TestFailedBoot: the reason is told, and nothing is left.
func TestFailedBoot(t *testing.T) {
	for _, detach := range []bool{false, true} {
		s := newStandIn(t, nil, simcloud.Options{DetachStarts: detach})
		for _, ephemeral := range []bool{false, true} {
			_, err := s.Create(t.Context(), smol.Spec{Name: "web", Image: "missing", Ephemeral: ephemeral}, nil)
			if !errors.Is(err, smol.ErrNotFound) || !strings.Contains(asError(t, err).Hint, `"missing"`) {
				t.Errorf("detached %v, ephemeral %v: %v", detach, ephemeral, err)
			}
			if left := s.left(t); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		}
	}
}

// TestScopesAndMoney: refusals of the account name what is missing.
func TestScopesAndMoney(t *testing.T) {
	s := newStandIn(t, nil, simcloud.Options{Keys: []simcloud.Key{{Token: "smk_reader", Scopes: []string{"machine:read"}}}, Plan: &simcloud.Plan{Name: "Tiny", MaxMachines: 1}})
	reader := newService(t, &cloud.Options{URL: s.h.URL(), Token: "smk_reader"})
	_, err := reader.Create(t.Context(), smol.Spec{Name: "web", Image: "alpine"}, nil)
	if !errors.Is(err, smol.ErrPermission) || !strings.Contains(err.Error(), "machine:create") || hintOf(err) == "" {
		t.Errorf("%v, hint %q", err, hintOf(err))
	}
	s.create(t, smol.Spec{Name: "one"})
	_, err = s.Create(t.Context(), smol.Spec{Name: "two", Image: "alpine"}, nil)
	if !errors.Is(err, smol.ErrConflict) || !strings.Contains(hintOf(err), "stopped ones too") {
		t.Errorf("%v, hint %q", err, hintOf(err))
	}
	stranger := newService(t, &cloud.Options{URL: s.h.URL(), Token: "smk_stranger"})
	if _, err := stranger.Machine("one").Info(t.Context()); !errors.Is(err, smol.ErrUnauthenticated) || !strings.Contains(hintOf(err), "SMOL_CLOUD_TOKEN") {
		t.Errorf("%v, hint %q", err, hintOf(err))
	}
	if a, err := s.Account(t.Context()); err != nil || a.Plan != "Tiny" || a.MaxMachines != 1 || a.Status != "active" {
		t.Errorf("%+v, %v", a, err)
	}
	if h, err := s.Health(t.Context()); err != nil || h.APIVersion == 0 || len(h.Capabilities) == 0 {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestLargeFile: what comes out is what went in.
func TestLargeFile(t *testing.T) {
	s := newStandIn(t, nil, simcloud.Options{})
	m := s.create(t, smol.Spec{Name: "web"})
	const size = 24 << 20
	in, out := sha256.New(), sha256.New()
	src := io.TeeReader(io.LimitReader(rand.NewChaCha8([32]byte{1}), size), in)
	if err := m.Put(t.Context(), "/workspace/big", src, nil); err != nil {
		t.Fatal(err)
	}
	f, err := m.Open(t.Context(), "/workspace/big", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if n, err := io.Copy(out, f); n != size || err != nil || !bytes.Equal(in.Sum(nil), out.Sum(nil)) {
		t.Errorf("%d bytes, %v", n, err)
	}
}
