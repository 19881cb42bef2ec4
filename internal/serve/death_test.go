//go:build linux || darwin

package serve_test

import (
	"context"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/internal/serve"
)

// each runs f for every step in which a program can die, in parallel, as often as the rounds ask for.
func each(t *testing.T, steps []string, f func(p *place, step string)) {
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			for range rounds.N(1) {
				f(newPlace(t), step)
			}
		})
	}
}

// TestDeathWhileStarting kills a program that starts a serve, while another one waits for it. That one uses what there is or starts what there
// is not, and is the last to let go.
func TestDeathWhileStarting(t *testing.T) {
	t.Parallel()
	each(t, []string{"locked", "users", "log", "spawned", "recorded", "released", "answering", "running"}, func(p *place, step string) {
		a := p.program("supervisor", "STEP="+step)
		a.says("at " + step)
		b := newLease(p.config())
		type got struct {
			u   *serve.Use
			err error
		}
		result := make(chan got, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			u, err := b.Get(ctx)
			result <- got{u, err}
		}()
		a.kill()
		r := <-result
		if r.err != nil {
			p.t.Fatalf("the other program: %v", r.err)
		}
		if version, err := probe(p.t.Context(), r.u.URL); version != "1.14.5" || err != nil {
			p.t.Errorf("the serve says %q, %v", version, err)
		}
		p.began(1)
		closeLease(p.t, b)
		p.clean()
	})
}

// TestDeathWhileAdopting kills a program that is about to share the serve of one that lives.
func TestDeathWhileAdopting(t *testing.T) {
	t.Parallel()
	each(t, []string{"locked", "adopt-users", "adopt-recorded"}, func(p *place, step string) {
		b := newLease(p.config())
		u := get(p.t, b)
		a := p.program("supervisor", "STEP="+step)
		a.says("at " + step)
		a.kill()
		if !u.Process.Alive() {
			p.t.Error("the serve was stopped under its owner")
		}
		p.began(1)
		closeLease(p.t, b)
		p.clean()
	})
}

// TestDeathWhileReclaiming kills the owner of a serve, and then the program that was about to take it over.
func TestDeathWhileReclaiming(t *testing.T) {
	t.Parallel()
	each(t, []string{"adopt-users", "adopt-recorded"}, func(p *place, step string) {
		owner := p.program("supervisor")
		pid := owner.uses()
		owner.kill()
		a := p.program("supervisor", "STEP="+step)
		a.says("at " + step)
		a.kill()
		b := newLease(p.config())
		u := get(p.t, b)
		if u.Process.PID != pid || !u.Ours() {
			p.t.Errorf("uses %+v, and the serve that was left is %d", u, pid)
		}
		p.recorded(u)
		p.began(1)
		closeLease(p.t, b)
		p.clean()
	})
}

// TestDeathWhileStopping kills the only program that used a serve while it stops it, and then uses one.
func TestDeathWhileStopping(t *testing.T) {
	t.Parallel()
	each(t, []string{"stop-locked", "stop-left", "stop-alone", "stop-marked", "stop-signaled", "stop-ended", "stop-swept"}, func(p *place, step string) {
		a := p.program("supervisor", "STEP="+step)
		pid := a.uses()
		a.close()
		a.says("at " + step)
		a.kill()
		b := newLease(p.config())
		u := get(p.t, b)
		switch step {
		case "stop-locked", "stop-left", "stop-alone":
			if u.Process.PID != pid {
				p.t.Errorf("uses serve %d, and %d has not been told to end", u.Process.PID, pid)
			}
			p.began(1)
		default:
			p.began(2)
		}
		closeLease(p.t, b)
		p.clean()
	})
}

// TestDeathWhileLeaving kills a program that lets go of a serve which another one uses.
func TestDeathWhileLeaving(t *testing.T) {
	t.Parallel()
	each(t, []string{"stop-locked", "stop-left"}, func(p *place, step string) {
		a := p.program("supervisor", "STEP="+step)
		pid := a.uses()
		b := newLease(p.config())
		u := get(p.t, b)
		a.close()
		a.says("at " + step)
		a.kill()
		if u.Process.PID != pid || !u.Process.Alive() {
			p.t.Errorf("the serve %d was stopped under %+v", pid, u)
		}
		closeLease(p.t, b)
		p.began(1)
		p.clean()
	})
}
