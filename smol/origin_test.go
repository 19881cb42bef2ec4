package smol_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// origin is a fleet that can tell, or cannot, whether it has made a machine.
type origin struct {
	*fake
	made, known bool
	err         error
	asked       string
	began       time.Time
}

func (o *origin) MadeSince(_ context.Context, id string, began time.Time) (made, known bool, err error) {
	o.asked, o.began = id, began
	return o.made, o.known, o.err
}

// TestLostCreateOnAnotherClock: the fleet's clock is off, and the answer to a create is lost. What the fleet knows about the machine's
// origin counts, and the clock only where it knows nothing.
func TestLostCreateOnAnotherClock(t *testing.T) {
	for _, tt := range []struct {
		name        string
		skew        time.Duration
		made, known bool
		err         error
		adopted     bool
	}{
		{name: "ours, an hour ago", skew: -time.Hour, made: true, known: true, adopted: true},
		{name: "another's, made just now", skew: time.Hour, known: true},
		{name: "not known, made just now", skew: time.Second, adopted: true},
		{name: "not known, an hour ago", skew: -time.Hour},
		{name: "cannot be asked, made just now", skew: time.Second, made: true, known: true, err: errLost, adopted: true},
		{name: "cannot be asked, an hour ago", skew: -time.Hour, made: true, known: true, err: errLost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &origin{fake: newFake(), made: tt.made, known: tt.known, err: tt.err}
			o.after = func(_ context.Context, call string) error {
				if call != "create web" {
					return nil
				}
				o.add(smol.Info{Name: "web", ID: "web", State: smol.StateStopped, CreatedAt: time.Now().Add(tt.skew)})
				return errLost
			}
			before := time.Now()
			m, err := smol.NewFleet(o).Create(t.Context(), smol.Spec{Name: "web", Image: "alpine"}, nil)
			if tt.adopted && (err != nil || m.ID() != "web") {
				t.Errorf("the machine was not taken for what was asked for: %v", err)
			}
			if !tt.adopted && !errors.Is(err, smol.ErrExists) {
				t.Errorf("%v, want one that matches ErrExists", err)
			}
			if !o.has("web") || o.count("create") != 1 {
				t.Errorf("there is the machine: %v, after %d creates", o.has("web"), o.count("create"))
			}
			if o.asked != "web" || o.began.Before(before) || o.began.After(time.Now()) {
				t.Errorf("asked about %q since %v", o.asked, o.began)
			}
		})
	}
}

// A name that the library has made up is nobody else's.
func TestLostCreateOfAGeneratedName(t *testing.T) {
	o := &origin{fake: newFake(), known: true}
	o.after = func(_ context.Context, call string) error {
		if o.count("create") == 1 && o.count("inspect") == 0 {
			return errLost
		}
		return nil
	}
	if _, err := smol.NewFleet(o).Create(t.Context(), smol.Spec{Image: "alpine"}, nil); err != nil {
		t.Error(err)
	}
	if o.asked != "" {
		t.Errorf("asked about %q", o.asked)
	}
}
