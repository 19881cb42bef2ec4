package guest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/guest"
)

// FuzzParse: what Command builds is read back as it was, and nothing that can be sent is lost.
func FuzzParse(f *testing.F) {
	for _, v := range odd {
		f.Add("sh", "-c", v, "A="+v, "UID="+v, "/"+v, int64(150), 10)
	}
	f.Add("busybox", "sh", "-c", "A=1", "A=2", "", int64(0), 70_000)
	f.Fuzz(func(t *testing.T, a, b, c, env1, env2, dir string, ms int64, repeat int) {
		s := &guest.Start{
			ID: "job-1", Bases: bases, Argv: []string{a, b, c, strings.Repeat(c, min(max(repeat, 0), 200_000)/(len(c)+1))},
			Env: []string{env1, env2}, Dir: dir, Timeout: time.Duration(ms) * time.Millisecond,
		}
		argv, files, err := s.Command()
		if err != nil {
			var field *guest.FieldError
			if !errors.As(err, &field) || argv != nil {
				t.Errorf("%v", err)
			}
			return
		}
		for i, arg := range argv {
			if !utf8.ValidString(arg) || strings.Contains(arg, "\x00") || len(arg) > guest.MaxArg {
				t.Errorf("argument %d cannot be sent", i)
			}
		}
		s.Timeout = (s.Timeout + 9*time.Millisecond).Truncate(10 * time.Millisecond)
		if diff := cmp.Diff(s, parsed(t, argv, files), ignored); diff != "" {
			t.Errorf("%.1000s", diff)
		}
	})
}

// FuzzParseArgv: no argv is a panic, and one that is understood is one that Command builds.
func FuzzParseArgv(f *testing.F) {
	start, _, _ := (&guest.Start{ID: "a", Bases: bases, Argv: odd[4:9], Env: []string{"A=1", "UID=2"}}).Command()
	setup, _ := (&guest.Setup{Bases: bases, Env: map[string]string{"A": "'"}, Dir: "/x"}).Command()
	poll, _ := (&guest.Poll{ID: "a", Bases: bases}).Command()
	signal, _ := (&guest.Signal{ID: "a", Bases: bases, Signal: "INT"}).Command()
	scripts := [][]string{start, setup, poll, signal}
	for i, argv := range scripts {
		f.Add(i, strings.Join(argv[4:], "\x00"))
	}
	f.Fuzz(func(t *testing.T, script int, args string) {
		head := scripts[uint(script)%4][:4]
		argv := append(slices.Clone(head), strings.Split(args, "\x00")...)
		request, ok := guest.Parse(argv)
		if !ok {
			return
		}
		var again []string
		var err error
		switch r := request.(type) {
		case *guest.Start:
			if r.Files() != nil {
				return
			}
			again, _, err = r.Command()
		case interface{ Command() ([]string, error) }:
			again, err = r.Command()
		}
		if err != nil {
			return // it could not have been sent
		}
		if back, ok := guest.Parse(again); !ok || !cmp.Equal(request, back, ignored) {
			t.Errorf("%+v, then %+v", request, back)
		}
	})
}

// FuzzParseReply: no reply is a panic or says more than there is.
func FuzzParseReply(f *testing.F) {
	f.Add([]byte("smol1 exited 0 2 1 1.00 2.00 /b\nhix"), int64(0), int64(0), int64(10), false)
	f.Add([]byte("smol1 running - 9 9 1.00 2.00 /b\n0189"), int64(0), int64(9), int64(4), true)
	f.Add([]byte("smol1 error nojob\n"), int64(0), int64(0), int64(0), false)
	f.Add([]byte("smol1 exited 0 9223372036854775807 1 1.00 2.00 /b\n"), int64(1), int64(1)<<62, int64(1)<<30, true)
	f.Fuzz(func(t *testing.T, stdout []byte, out, err, budget int64, clip bool) {
		if out < 0 || err < 0 || budget < 0 || budget > 1<<30 {
			return // no request has such a view
		}
		v := guest.View{Stdout: out, Stderr: err, Budget: budget, Clip: clip}
		r, fault := guest.ParseReply(stdout, v)
		if (r == nil) == (fault == nil) {
			t.Fatalf("%+v, %v", r, fault)
		}
		if r == nil {
			return
		}
		for _, s := range []struct {
			part         *guest.Part
			offset, size int64
		}{{&r.Stdout, out, r.StdoutSize}, {&r.Stderr, err, r.StderrSize}} {
			if n := int64(len(s.part.Data)); n > budget || n > 0 && s.part.Next() > s.size || s.part.Offset != s.offset || int64(s.part.Head) > n {
				t.Errorf("%+v of %d bytes", s.part, s.size)
			}
		}
	})
}
