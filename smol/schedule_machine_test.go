package smol_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// cleanup is how long a create or a branch may go on after its context has ended, to find out whether there is a machine and to delete it.
const cleanup = 61 * time.Second

// box is a machine that may be there.
type box struct {
	s     *schedule
	m     *smol.Machine
	name  string
	files map[string][]*string // what each file may hold; nil is that it is not there
	jobs  []*work
	// doubtful: a delete has failed, and the machine may be there or not.
	doubtful bool
	source   *box // what it is a branch of, or nil
}

// create makes a machine, or is told why not.
func (s *schedule) create() {
	name := s.tag("m")
	spec := smol.Spec{Name: name, Branchable: true}
	if s.fleet == "cloud" {
		spec.Image = "busybox"
	}
	if s.rand.IntN(2) == 0 {
		spec.Env = map[string]string{"A": "b c"}
	}
	var m *smol.Machine
	err := s.do(cleanup, "create "+name, func(ctx context.Context) (err error) {
		m, err = s.w.fleet.Create(ctx, spec, nil)
		return err
	})
	s.born(name, m, err, &box{files: map[string][]*string{}})
}

// born notes a machine that came to be, or that may have.
func (s *schedule) born(name string, m *smol.Machine, err error, b *box) {
	if err == nil {
		b.s, b.m, b.name = s, m, name
		s.boxes[name] = b
		return
	}
	var e *smol.Error
	if errors.As(err, &e) && strings.Contains(e.Hint, "delete") {
		s.told = append(s.told, name)
		return
	}
	if s.exists(name) {
		s.failf("%s is left behind, and its maker was told %v and nothing of that", name, err)
	}
}

// exists reports whether there is a machine of that name. It waits for a service that is being restarted.
func (s *schedule) exists(name string) bool {
	for until := time.Now().Add(time.Minute); ; pass(time.Second) {
		_, err := s.w.fleet.Machine(name).Info(s.t.Context())
		if err == nil || errors.Is(err, smol.ErrNotFound) || time.Now().After(until) {
			return !errors.Is(err, smol.ErrNotFound)
		}
	}
}

// branch makes a copy of the machine.
func (b *box) branch() {
	s, name := b.s, b.s.tag("m")
	var m *smol.Machine
	err := s.do(cleanup, fmt.Sprintf("branch %s of %s", name, b.name), func(ctx context.Context) (err error) {
		m, err = b.m.Branch(ctx, name, &smol.BranchOptions{Branchable: true})
		return err
	})
	files := map[string][]*string{}
	for path, may := range b.files {
		files[path] = slices.Clone(may)
	}
	s.born(name, m, err, &box{files: files, source: b})
}

// remove deletes the machine, perhaps with its branches.
func (b *box) remove() {
	s := b.s
	o := &smol.DeleteOptions{Cascade: s.rand.IntN(2) == 0}
	family := []*box{b}
	for _, c := range s.boxes {
		if o.Cascade && c != b && c.descends(b) {
			family = append(family, c)
		}
	}
	err := s.do(time.Second, fmt.Sprintf("delete %s, cascade %t", b.name, o.Cascade), func(ctx context.Context) error { return b.m.Delete(ctx, o) })
	if err != nil && !errors.Is(err, smol.ErrNotFound) {
		for _, c := range family {
			c.doubtful = true
		}
		return
	}
	b.missing(err)
	delete(s.boxes, b.name)
	for _, c := range family {
		if !s.exists(c.name) {
			delete(s.boxes, c.name)
		} else if c == b {
			s.failf("%s was deleted and is there", b.name)
		}
	}
}

// descends reports whether the machine is a branch of another one, or of a branch of it.
func (b *box) descends(of *box) bool {
	return b.source != nil && (b.source == of || b.source.descends(of))
}

// missing takes note of an error that says that the machine is not there, and reports whether it is one.
func (b *box) missing(err error) bool {
	if !errors.Is(err, smol.ErrNotFound) {
		return false
	}
	if !b.doubtful {
		b.s.failf("%s is there, and was not found: %v", b.name, err)
	}
	return true
}

// list looks for the machine among all.
func (b *box) list() {
	var names []string
	err := b.s.do(time.Second, "list", func(ctx context.Context) error {
		for info, err := range b.s.w.fleet.List(ctx, nil) {
			if err != nil {
				return err
			}
			names = append(names, info.Name)
		}
		return nil
	})
	for name, b := range b.s.boxes {
		if err == nil && !b.doubtful && !slices.Contains(names, name) {
			b.s.failf("%s is not in the list %v", name, names)
		}
	}
}

// settle ends the schedule: without faults everything can be cleaned up, and nothing is left that nobody was told of.
func (s *schedule) settle() {
	s.notef("the end")
	pass(time.Minute) // for kills and clean-ups that go on after their calls
	for _, w := range s.cmds {
		w.last()
	}
	for name, b := range s.boxes {
		if err := b.m.Discard(); err != nil && !s.hasBranches(err) {
			s.failf("discard %s: %v", name, err)
		}
	}
	for tries := 0; tries < 2; tries++ { // the second time for machines that had branches
		for info, err := range s.w.fleet.List(s.t.Context(), nil) {
			if err != nil {
				s.failf("list: %v", err)
				return
			}
			if s.boxes[info.Name] == nil && !slices.Contains(s.told, info.Name) {
				s.failf("%s (%s) is left, and nobody was told of it", info.Name, info.State)
			}
			if err := s.w.fleet.Machine(info.ID).Discard(); err != nil && !s.hasBranches(err) {
				s.failf("discard %s: %v", info.Name, err)
			}
		}
	}
	for info := range s.w.fleet.List(s.t.Context(), nil) {
		s.failf("%s (%s) cannot be deleted", info.Name, info.State)
	}
	for _, w := range s.cmds {
		if _, alive := s.w.seen(w.tag); alive > 0 {
			s.failf("%s runs on in a machine that was deleted", w.tag)
		}
	}
}

// hasBranches reports whether a delete was refused because of branches.
func (s *schedule) hasBranches(err error) bool { return errors.Is(err, smol.ErrConflict) }
