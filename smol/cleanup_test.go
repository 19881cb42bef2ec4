package smol_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/smol-machines/smol-go/internal/sim/fault"
	"github.com/smol-machines/smol-go/smol"
)

// A create that cannot clean up says so, and its own limit for that does not look like the end of the caller's context.
func TestCreateCannotCleanUp(t *testing.T) {
	const machines = "/api/v1/machines"
	for _, tt := range []struct {
		name   string
		faults []fault.Fault
		hint   string
	}{
		{"look", []fault.Fault{
			{Method: "POST", Path: machines, Nth: 1, Action: fault.LoseReply}, {Method: "GET", Path: machines + "/*", Action: fault.Hang},
		}, "look for the machine"},
		{"delete", []fault.Fault{
			{Method: "POST", Path: "exec", Action: fault.Fail, Status: 401}, {Method: "DELETE", Action: fault.Hang},
		}, "it still exists"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, err := newWorld("local", "")
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					for _, c := range w.closes {
						if err := c(); err != nil {
							t.Error(err)
						}
					}
				}()
				for _, f := range tt.faults {
					w.arm(f)
				}
				_, err = w.fleet.Create(t.Context(), smol.Spec{Name: "m"}, nil)
				var e *smol.Error
				if !errors.As(err, &e) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(e.Hint, tt.hint) ||
					!strings.Contains(e.Message, "no answer within 30s") {
					t.Errorf("got %+v", err)
				}
			})
		})
	}
}
