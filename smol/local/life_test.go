package local_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sim "github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/smol"
)

// TestLife takes one machine through everything, with each kind of release and on each kind of socket.
func TestLife(t *testing.T) {
	for _, tt := range []struct {
		version string
		tcp     bool
	}{{"1.9.2", false}, {"1.14.5", false}, {"1.14.5", true}, {"1.18.2", false}, {"1.22.2", false}, {"1.23.0", true}} {
		t.Run(fmt.Sprintf("%s tcp=%v", tt.version, tt.tcp), func(t *testing.T) {
			t.Parallel() // most of it is the wait for a time-out
			s := newStandIn(t, tt.tcp, sim.Options{Version: tt.version, KeepLargeUploads: true})
			if h, err := s.Health(t.Context()); err != nil || h.Version != tt.version || h.Status != "ok" {
				t.Fatalf("%+v, %v", h, err)
			}
			s.boot(t, "m")
			t.Run("inspect", func(t *testing.T) { testInspect(t, s) })
			t.Run("exec", func(t *testing.T) { testExec(t, s) })
			t.Run("files", func(t *testing.T) { testFiles(t, s) })
			t.Run("stream", func(t *testing.T) { testStream(t, s) })
			t.Run("logs", func(t *testing.T) { testLogs(t, s) })
			t.Run("image", func(t *testing.T) { testImage(t, s) })
			t.Run("branch", func(t *testing.T) { testBranch(t, s) })
			t.Run("end", func(t *testing.T) { testEnd(t, s) })
		})
	}
}

func testInspect(t *testing.T, s *standIn) {
	info, err := s.Inspect(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	if info.State != smol.StateRunning || info.ID != "m" || !info.Network.Open || !info.Branchable || time.Since(info.CreatedAt) > time.Hour {
		t.Errorf("got %+v", info)
	}
	if _, err := s.Inspect(t.Context(), "other"); !errors.Is(err, smol.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	_, err = s.Create(t.Context(), &smol.Spec{Name: "m"})
	if e := asError(t, err); !errors.Is(err, smol.ErrExists) || len(e.RequestID) != 16 {
		t.Errorf("got %+v", e)
	}
}

func testExec(t *testing.T, s *standIn) {
	for _, tt := range []struct {
		req  smol.ExecRequest
		code int
		out  string
		err  string
	}{
		{smol.ExecRequest{Argv: []string{"echo", "a b", "ü"}}, 0, "a b ü\n", ""},
		{smol.ExecRequest{Argv: []string{"bytes"}}, 3, "\xff\x00\r\n", "e"},
		{smol.ExecRequest{Argv: []string{"cat"}}, 0, "", ""},
		{smol.ExecRequest{Argv: []string{"env"}, Env: []string{"A=x=y"}, Dir: "/tmp"}, 0, "x=y /tmp\n", ""},
		{smol.ExecRequest{Argv: []string{"forever"}, Timeout: 10 * time.Millisecond}, 124, "", "\ncommand timed out after 1000ms"},
	} {
		got, err := s.Exec(t.Context(), "m", &tt.req)
		if err != nil {
			t.Errorf("%q: %v", tt.req.Argv, err)
			continue
		}
		if got.ExitCode != tt.code || string(got.Stdout) != tt.out || string(got.Stderr) != tt.err {
			t.Errorf("%q: %d, %q, %q", tt.req.Argv, got.ExitCode, got.Stdout, got.Stderr)
		}
	}
	missing := &smol.ExecRequest{Argv: []string{"no-such-program"}}
	if got, err := s.Exec(t.Context(), "m", missing); err != nil || got.ExitCode != 127 || len(got.Stderr) == 0 {
		t.Errorf("missing program: %+v, %v", got, err)
	}
	if _, err := s.Create(t.Context(), &smol.Spec{Name: "bare"}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Exec(t.Context(), "bare", missing); err != nil || got.ExitCode != 127 || len(got.Stderr) == 0 {
		t.Errorf("missing program on a bare machine: %+v, %v", got, err)
	}
}

func testFiles(t *testing.T, s *standIn) {
	content := strings.Repeat("0123456789\xff\x00\r\n", 200_000) // above 1 MiB
	odd := "/workspace/new/a b/ü?#%2e"
	for _, path := range []string{odd, "/root/x"} {
		for _, size := range []int64{int64(len(content)), -1} {
			if err := s.Upload(t.Context(), "m", path, strings.NewReader(content), size); err != nil {
				t.Fatal(err)
			}
			r, n, err := s.Download(t.Context(), "m", path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			_ = r.Close()
			if err != nil || string(got) != content || n != int64(len(content)) {
				t.Errorf("%s: %d bytes of %d, %v", path, len(got), n, err)
			}
		}
	}
	if err := s.Upload(t.Context(), "m", "/root/empty", strings.NewReader(""), 0); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]error{"/nowhere/x": fs.ErrNotExist, "/root": smol.ErrInvalid} {
		if _, _, err := s.Download(t.Context(), "m", path); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := s.Upload(t.Context(), "m", "/root", strings.NewReader("x"), 1); !errors.Is(err, smol.ErrInvalid) {
		t.Errorf("onto a directory: %v", err)
	}
	if err := s.Upload(t.Context(), "other", "/root/x", strings.NewReader("x"), 1); !errors.Is(err, smol.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into a machine that does not exist: %v", err)
	}
}

func testStream(t *testing.T, s *standIn) {
	for _, tt := range []struct {
		argv []string
		text string
		code int
	}{
		{[]string{"echo", "hello"}, "hello\n", 0},
		{[]string{"cat"}, "", 0}, // its input has an end
		{[]string{"bytes"}, "\ufffd\x00\n\ne", 3},
		{[]string{"no-such-program"}, "not found", 127},
	} {
		var text strings.Builder
		code := -1
		events := map[string]string{}
		for ev, err := range s.Stream(t.Context(), "m", &smol.ExecRequest{Argv: tt.argv, Timeout: time.Minute}) {
			if err != nil {
				t.Fatalf("%q: %v", tt.argv, err)
			}
			events[ev.Stream] += ev.Text
			if ev.Exited {
				code = ev.ExitCode
			}
		}
		text.WriteString(events["stdout"] + events["stderr"])
		if tt.code == 127 && text.Len() > 0 {
			tt.text = text.String() // the shell's own words
		}
		if text.String() != tt.text || code != tt.code {
			t.Errorf("%q: %q, %d", tt.argv, text.String(), code)
		}
	}
}

func testLogs(t *testing.T, s *standIn) {
	all, err := lines(t.Context(), s.Backend, nil)
	if err != nil || len(all) == 0 {
		t.Fatalf("%q, %v", all, err)
	}
	last, err := lines(t.Context(), s.Backend, &smol.LogOptions{Tail: 1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all[len(all)-1:], last); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for line, err := range s.Logs(t.Context(), "m", &smol.LogOptions{Follow: true}) {
		if err != nil || line != all[0] {
			t.Errorf("%q, %v", line, err)
		}
		break
	}
}

func testImage(t *testing.T, s *standIn) {
	img, err := s.PullImage(t.Context(), "m", "busybox:1.36")
	if err != nil || img.Reference != "docker.io/library/busybox:1.36" {
		t.Errorf("%+v, %v", img, err)
	}
	if _, err := s.PullImage(t.Context(), "m", "missing"); asError(t, err).Hint == "" || !errors.Is(err, smol.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func testBranch(t *testing.T, s *standIn) {
	child, err := s.Branch(t.Context(), "m", "child", nil)
	if err != nil || child.State != smol.StateRunning || child.ID != "child" {
		t.Fatalf("%+v, %v", child, err)
	}
	if _, err := s.Branch(t.Context(), "m", "child", nil); !errors.Is(err, smol.ErrExists) {
		t.Errorf("again: %v", err)
	}
	if _, err := s.Branch(t.Context(), "other", "x", nil); !errors.Is(err, smol.ErrNotFound) {
		t.Errorf("of none: %v", err)
	}
	_, err = s.Branch(t.Context(), "bare", "x", nil)
	if e := asError(t, err); !errors.Is(err, smol.ErrConflict) || e.Hint == "" {
		t.Errorf("of one that is not branchable: %+v", e)
	}
}

func testEnd(t *testing.T, s *standIn) {
	var names []string
	for info, err := range s.List(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, info.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"bare", "child", "m"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	info, err := s.Stop(t.Context(), "child", nil)
	if err != nil || info.State != smol.StateStopped {
		t.Errorf("%+v, %v", info, err)
	}
	if err := s.Delete(t.Context(), "m", &smol.DeleteOptions{Cascade: true}); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), "m", nil); !errors.Is(err, smol.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
}
