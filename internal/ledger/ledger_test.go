package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/ledger"
)

// modes says that the mode of a file tells who may use it; on Windows an access list does.
const modes = runtime.GOOS != "windows"

// newDir returns a directory that does not exist yet.
func newDir(t *testing.T) string { return filepath.Join(t.TempDir(), "state", "run") }

// TestRecord puts machines on record and takes them off it.
func TestRecord(t *testing.T) {
	t.Parallel()
	dir, ctx := newDir(t), t.Context()
	l := ledger.New(dir)
	if all, err := l.Entries(); len(all) > 0 || err != nil {
		t.Errorf("nothing is there yet: %v, %v", all, err)
	}
	if id, err := l.KnownHost(); id != "" || err != nil {
		t.Errorf("the host has no id yet: %q, %v", id, err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); err == nil {
		t.Error("whoever only looks makes a directory")
	}
	a := ledger.Entry{Name: "mcp-a", Session: "0000000a", Since: 5, Asked: 6}
	b := ledger.Entry{Name: "mcp-a", Session: "0000000b", Service: "http://127.0.0.1:1", Since: 5, Asked: 6}
	again := a
	again.Asked = 9
	for _, e := range []ledger.Entry{a, b, again} {
		if err := l.Add(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Remove(ctx, a.Session, "mcp-none"); err != nil {
		t.Errorf("a machine that is not on record: %v", err)
	}
	all, err := ledger.New(dir).Entries()
	if diff := cmp.Diff([]ledger.Entry{b, again}, all); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := l.Remove(ctx, b.Session, b.Name); err != nil {
		t.Fatal(err)
	}
	if all, err := l.Entries(); !slices.Equal(all, []ledger.Entry{again}) || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	id, err := l.Host(ctx)
	if known, knownErr := ledger.New(dir).KnownHost(); len(id) != 16 || known != id || errors.Join(err, knownErr) != nil {
		t.Errorf("the host is %q and then %q: %v, %v", id, known, err, knownErr)
	}
	if st, err := os.Stat(filepath.Join(dir, "machines.json")); err != nil || modes && st.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read the record: %v, %v", st.Mode(), err)
	}
}

// TestUnreadable takes nothing that cannot be read for empty, and leaves it as it is.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	good := ledger.Entry{Name: "mcp-a", Session: "0000000a", Since: 5, Asked: 6}
	for name, text := range map[string]string{
		"empty": "", "cut": `{"version":1,"machines":[{"name":"mcp-a"`, "null": "null", "version": `{"version":2,"machines":[]}`, "field": `{"version":1,"other":1}`,
		"more": `{"version":1} {}`, "no name": `{"version":1,"machines":[{"session":"0000000a","since":5,"asked":6}]}`,
		"session": `{"version":1,"machines":[{"name":"a","session":"../../etc","since":5,"asked":6}]}`, "time": `{"version":1,"machines":[{"name":"a","session":"0000000a","since":5,"asked":4}]}`,
		"huge": `{"version":1,"machines":[` + strings.Repeat(" ", 2<<20) + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			l := ledger.New(newDir(t))
			if err := l.Add(t.Context(), good); err != nil {
				t.Fatal(err)
			}
			path := overwrite(t, l, text)
			_, err := l.Entries()
			for what, err := range map[string]error{"read": err, "add": l.Add(t.Context(), good), "remove": l.Remove(t.Context(), good.Session, good.Name)} {
				var le *ledger.Error
				if !errors.As(err, &le) || !strings.Contains(le.Problem, "machines.json") || le.Fix == "" {
					t.Errorf("%s: %v", what, err)
				}
			}
			if b, err := os.ReadFile(path); string(b) != text || err != nil {
				t.Errorf("it was changed to %.100q, %v", b, err)
			}
		})
	}
}

// TestRefused is what does not get on record, and where there is none.
func TestRefused(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	l := ledger.New(dir)
	for name, e := range map[string]ledger.Entry{
		"no name": {Session: "0000000a", Since: 1, Asked: 1}, "no text": {Name: "\xff", Session: "0000000a", Since: 1, Asked: 1},
		"long": {Name: strings.Repeat("a", 2000), Session: "0000000a", Since: 1, Asked: 1}, "no session": {Name: "a", Since: 1, Asked: 1},
		"no time": {Name: "a", Session: "0000000a"}, "session": {Name: "a", Session: "0000000A", Since: 1, Asked: 1},
	} {
		if err := l.Add(t.Context(), e); err == nil {
			t.Errorf("%s: put on record", name)
		}
	}
	if s, err := l.Begin(t.Context(), "../x"); err == nil {
		t.Errorf("a session %v", s)
	}
	if s, err := l.Take(t.Context(), "../x"); s != nil || err != nil {
		t.Errorf("a session %v, %v", s, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "host-id"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if id, err := l.Host(t.Context()); err == nil {
		t.Errorf("the host is %q", id)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var le *ledger.Error
	if _, err := l.Entries(); modes && (!errors.As(err, &le) || !strings.Contains(le.Fix, "chmod 700")) {
		t.Errorf("a directory of others: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// Nobody holds the lock, so that it need not be waited for.
	if err := l.Remove(ctx, "0000000a", "a"); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestMade tells a machine on record from one of the same name that was made before or long after.
func TestMade(t *testing.T) {
	t.Parallel()
	e := ledger.Entry{Name: "a", Session: "0000000a", Since: 1000, Asked: 2000}
	for at, want := range map[int64]bool{999: false, 1000: true, 2000: true, 2600: true, 2601: false} {
		if got := e.Made(time.Unix(at, 0)); got != want {
			t.Errorf("made at %d: %v", at, got)
		}
	}
	if !e.Made(time.Time{}) {
		t.Error("a service that does not tell when hides all machines")
	}
}

// TestPrograms lets programs and goroutines share the record.
func TestPrograms(t *testing.T) {
	t.Parallel()
	const each = 10
	dir := newDir(t)
	l := ledger.New(dir)
	var all []*process
	for i := range 3 {
		all = append(all, start(t, dir, fmt.Sprintf("0000000%d", i), each))
	}
	var wg sync.WaitGroup
	for i := range each {
		wg.Go(func() {
			e := ledger.Entry{Name: fmt.Sprintf("mcp-own-%d", i), Session: "0000000f", Since: 1, Asked: 1}
			if err := l.Add(t.Context(), e); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, p := range all {
		p.ready(t)
	}
	got, err := l.Entries()
	if err != nil || len(got) != each+3*each/2 {
		t.Errorf("%d on record: %v", len(got), err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"version":1,"machines":[{"name":"mcp-a","session":"0000000a","since":5,"asked":6}]}`, `{"version":1}`, `{}`, `[]`, ``, "null"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := ledger.Parse(b)
		if err != nil {
			return
		}
		for _, e := range all {
			if e.Name == "" || len(e.Session) != 8 || strings.ContainsAny(e.Session, "./\\") || e.Since <= 0 || e.Asked < e.Since {
				t.Errorf("%q: %+v", b, e)
			}
		}
	})
}
