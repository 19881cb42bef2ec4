package wiretest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// Service is the stand-in that one transcript is replayed against, as the transcript wants it.
type Service interface {
	// Directive does what a line of the transcript's head says, before Start. It returns ErrUnknown for one that it does not have.
	Directive(words []string) error
	// Start brings the server up.
	Start() error
	// Dial connects to it.
	Dial() (net.Conn, error)
	// Headers are those that a request gets unless it has them, with names in lower case.
	Headers() [][2]string
	// Act does what a line of an action says. It returns ErrUnknown for one that it does not have.
	Act(words []string) error
	// Check says in what a reply to a request with that method differs from what the contract says of every reply.
	Check(method string, a *Answer) error
	// Stop ends the server and everything that it started.
	Stop()
}

// ErrUnknown is returned for directives and actions that a service does not have.
var ErrUnknown = errors.New("there is no such directive or action")

// Suite is a directory of transcripts and what they are replayed against.
type Suite struct {
	// Dir holds the transcripts, sections.txt, without.txt and deviations.txt.
	Dir string
	// Least is how many transcripts there are at least; fewer are a sign that they are looked for in the wrong place.
	Least int
	// New returns the service for one transcript.
	New func(r *Run) Service
}

// Replay replays every transcript, each as a parallel subtest with the transcript's name. One that deviations.txt lists must differ.
func (s *Suite) Replay(t *testing.T) {
	all, err := facts(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < s.Least {
		t.Fatalf("only %d transcripts in %s", len(all), s.Dir)
	}
	deviations, _ := list(t, filepath.Join(s.Dir, "deviations.txt"))
	for _, f := range all {
		if system := f.system(); system != runtime.GOOS && system != "" {
			t.Logf("%s is a fact of %s", f.name, system)
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			err := s.replay(t, f)
			switch reason := deviations[f.name]; {
			case err != nil && reason == "":
				t.Error(err)
			case err == nil && reason != "":
				t.Errorf("the stand-in follows the contract here; strike it from deviations.txt (%s)", reason)
			case reason != "":
				t.Logf("known deviation: %s: %v", reason, err)
			}
		})
	}
	for name := range deviations {
		if !slices.ContainsFunc(all, func(f *fact) bool { return f.name == name }) {
			t.Errorf("deviations.txt: there is no %s", name)
		}
	}
}

// replay returns in what the service differs from the transcript.
func (s *Suite) replay(t testing.TB, f *fact) error {
	dir, err := os.MkdirTemp("", "wire") // a short path: it may hold a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	r := &Run{TB: t, Dir: dir, Tmp: filepath.Join(dir, "tmp"), Vars: map[string]string{}}
	if err := os.Mkdir(r.Tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	r.Vars["tmp"] = filepath.ToSlash(r.Tmp) // which is written in JSON as it is, and means the same to Windows
	r.service = s.New(r)
	for _, d := range f.directives {
		if err := r.directive(d); err != nil {
			t.Fatalf("%q: %v", d, err)
		}
	}
	if err := r.service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.hangUp()
		r.service.Stop()
	})
	for _, s := range f.steps {
		if err := r.step(s); err != nil {
			return fmt.Errorf("section %d, %s: %w", s.section, firstLine(s.text), err)
		}
	}
	return nil
}
