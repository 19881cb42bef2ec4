package ledger_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/smol-machines/smol-go/internal/ledger"
)

// overwrite replaces the record of l with text, and returns where it is.
func overwrite(t *testing.T, l *ledger.Ledger, text string) string {
	t.Helper()
	if _, err := l.Entries(); err != nil {
		t.Fatal(err)
	}
	path := l.RecordPath()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSession leaves a session alone while its program lives, and takes it up once that was killed.
func TestSession(t *testing.T) {
	t.Parallel()
	dir, ctx := newDir(t), t.Context()
	l := ledger.New(dir)
	p := start(t, dir, "000000aa", 1)
	p.ready(t)
	free := func(id string) bool {
		t.Helper()
		s, err := l.Take(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		s.End()
		return s != nil
	}
	if free("000000aa") {
		t.Error("a session that lives can be taken")
	}
	if s, err := l.Begin(ctx, "000000aa"); err == nil {
		t.Errorf("there are two of it: %v", s)
	}
	own, err := l.Begin(ctx, "000000bb")
	if err != nil {
		t.Fatal(err)
	}
	if free("000000bb") {
		t.Error("a session of this program can be taken")
	}
	if err := l.Tidy(ctx); err != nil {
		t.Error(err)
	}
	if free("000000aa") || free("000000bb") {
		t.Error("Tidy ends sessions that live")
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.cmd.Wait()
	if err := l.Tidy(ctx); err != nil {
		t.Error(err)
	}
	files := func() int {
		all, err := filepath.Glob(filepath.Join(dir, "sessions", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if n := files(); n != 2 {
		t.Errorf("%d files; one is of a session that lives, and one of one with a machine on record", n)
	}
	dead, err := l.Take(ctx, "000000aa")
	if err != nil || dead == nil {
		t.Fatalf("the session of a program that was killed cannot be taken: %v", err)
	}
	if free("000000aa") {
		t.Error("two take it up at once")
	}
	dead.End()
	own.End()
	if !free("000000aa") || !free("000000bb") || !free("000000cc") || files() != 0 {
		t.Errorf("sessions that ended are not free, or leave files: %d", files())
	}
}

// TestTidy removes what sessions without a machine on record have left.
func TestTidy(t *testing.T) {
	t.Parallel()
	dir, ctx := newDir(t), t.Context()
	l := ledger.New(dir)
	if err := l.Tidy(ctx); err != nil {
		t.Errorf("nothing is there: %v", err)
	}
	p := start(t, dir, "000000aa", 0)
	p.ready(t)
	p.cmd.Process.Kill()
	p.cmd.Wait()
	if err := l.Tidy(ctx); err != nil {
		t.Error(err)
	}
	if all, _ := filepath.Glob(filepath.Join(dir, "sessions", "*")); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
}
