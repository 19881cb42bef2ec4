package pace_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/internal/pace"
)

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := pace.Wait(t.Context(), time.Hour); err != nil || time.Since(begin) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		begin = time.Now()
		if err := pace.Wait(ctx, time.Hour); !errors.Is(err, why) || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		for _, d := range []time.Duration{0, -1} {
			if err := pace.Wait(ctx, d); err != nil {
				t.Errorf("nothing to wait for: %v", err)
			}
		}
	})
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(time.Second, 4*time.Second)
		for _, want := range []time.Duration{time.Second, time.Second * 3 / 2, time.Second * 9 / 4, time.Second * 27 / 8, 4 * time.Second, 4 * time.Second} {
			begin := time.Now()
			if err := p.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(begin); got < want*3/4 || got > want*5/4+1 {
				t.Errorf("waited %v, want about %v", got, want)
			}
		}
		if err := pace.New(0, 0).Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
