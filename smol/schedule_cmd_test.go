package smol_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// sizes are what is written and read. Large ones, which go other ways, are dear and seldom.
var sizes = []int{0, 1, 10, 10, 10, 10, 10, 100, 100, 1000, 1000, 1000, 1000, 1000, 20_000, 300_000}

// work is a command that says how it was begun and how it has to end.
type work struct {
	s       *schedule
	tag     string
	takes   time.Duration
	timeout time.Duration
	size    int
	code    int
	// began and never are whether it is known to have been started, or to never have been.
	began, never bool

	job     *smol.Job
	next    smol.JobOffset
	started time.Time
	killed  bool // a kill may have reached it
}

func (b *box) newWork() *work {
	s := b.s
	w := &work{
		s: s, tag: s.tag("w"), takes: pick(s.rand, []time.Duration{0, 0, 5 * time.Millisecond, 900 * time.Millisecond, 8 * time.Second, 70 * time.Second}),
		size: pick(s.rand, sizes), code: pick(s.rand, []int{0, 0, 0, 1, 7, 126, 255}),
	}
	if s.rand.IntN(4) == 0 {
		w.timeout = pick(s.rand, []time.Duration{400 * time.Millisecond, 3 * time.Second, 10 * time.Minute})
	}
	s.cmds = append(s.cmds, w)
	return w
}

// cmd is the command itself.
func (w *work) cmd(m *smol.Machine) *smol.Cmd {
	c := m.Command("work", w.tag, fmt.Sprint(w.takes.Milliseconds()), fmt.Sprint(w.size), fmt.Sprint(w.code))
	c.Timeout = w.timeout
	return c
}

func (w *work) String() string {
	return fmt.Sprintf("%s (takes %s of %s, %d bytes, exit %d)", w.tag, w.takes, w.timeout, w.size, w.code)
}

// timesOut reports whether the command cannot end by itself.
func (w *work) timesOut() bool { return w.timeout > 0 && w.timeout < w.takes }

// want is the output that the command has when it has ended.
func (w *work) want() []byte {
	all := output(w.tag, w.size)
	if w.timesOut() {
		return all[:w.size/2]
	}
	return all
}

// ended checks how the command ended, if err says that it has.
func (w *work) ended(err error) bool {
	var exit *smol.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		return false
	case err == nil && (w.timesOut() || w.code != 0), err != nil && w.timesOut() != exit.TimedOut, err != nil && !exit.TimedOut && exit.Code != w.code:
		if !w.killed {
			w.s.failf("%s ended with %v", w, err)
		}
	}
	w.began = true
	return true
}

// last checks, when all is over, how often the command was begun and that it does not run any more, if that was said.
func (w *work) last() {
	switch runs, _ := w.s.w.seen(w.tag); {
	case runs > 1, runs == 0 && w.began, runs > 0 && w.never:
		w.s.failf("%s was begun %d times; it is known to have been begun: %t, to not have been: %t", w, runs, w.began, w.never)
	}
}

// exec runs a command to its end.
func (b *box) exec() {
	w := b.newWork()
	var out []byte
	err := b.s.do(time.Second, fmt.Sprintf("exec %s in %s", w, b.name), func(ctx context.Context) (err error) {
		out, err = w.cmd(b.m).Output(ctx)
		return err
	})
	if w.ended(err) {
		if !bytes.Equal(out, w.want()) {
			b.s.failf("%s wrote %d bytes, %.100q", w, len(out), out)
		}
		return
	}
	b.missing(err)
	if err != nil && !strings.Contains(err.Error(), "may still run") {
		b.s.dead(w, err)
	}
}

// dead checks that a command whose caller was told of its end by err does not run. What is known only from a lost answer is not told.
func (s *schedule) dead(w *work, err error) {
	if !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	pass(time.Second) // a function learns of its end a moment later
	if _, alive := s.w.seen(w.tag); alive > 0 {
		s.failf("%s runs on after %v", w, err)
	}
}

// input runs a command with input.
func (b *box) input() {
	in := output(b.s.tag("i"), pick(b.s.rand, sizes))
	var out []byte
	err := b.s.do(3*time.Second, fmt.Sprintf("cat %d bytes in %s", len(in), b.name), func(ctx context.Context) (err error) {
		c := b.m.Command("cat")
		c.Stdin = bytes.NewReader(in)
		out, err = c.Output(ctx)
		return err
	})
	var exit *smol.ExitError
	if errors.As(err, &exit) || err == nil && !bytes.Equal(in, out) {
		b.s.failf("cat of %d bytes gave %d and %v", len(in), len(out), err)
	}
	b.missing(err)
}

// write replaces a file. If it fails the file has its old content or the new one.
func (b *box) write() {
	path := pick(b.s.rand, []string{"/workspace/f", "/root/g"})
	content := string(output(b.s.tag("f"), pick(b.s.rand, sizes)))
	err := b.s.do(15*time.Second, fmt.Sprintf("write %d bytes to %s in %s", len(content), path, b.name), func(ctx context.Context) error {
		return b.m.WriteFile(ctx, path, []byte(content), nil)
	})
	if err == nil {
		b.files[path] = []*string{&content}
		return
	}
	if b.missing(err) {
		return
	}
	b.files[path] = append(b.may(path), &content)
}

// may is what a file may hold.
func (b *box) may(path string) []*string {
	if may, ok := b.files[path]; ok {
		return may
	}
	return []*string{nil}
}

// read compares a file with what it may hold.
func (b *box) read() {
	path := pick(b.s.rand, []string{"/workspace/f", "/root/g"})
	var got []byte
	err := b.s.do(15*time.Second, fmt.Sprintf("read %s in %s", path, b.name), func(ctx context.Context) (err error) {
		got, err = b.m.ReadFile(ctx, path)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.missing(err)
		return
	}
	is := slices.IndexFunc(b.may(path), func(s *string) bool { return (s == nil) == (err != nil) && (s == nil || *s == string(got)) })
	if is < 0 {
		b.s.failf("%s holds %d bytes, %.50q (%v), which is none of the %d things that were written", path, len(got), got, err, len(b.may(path)))
		return
	}
	b.files[path] = b.may(path)[is : is+1]
}
