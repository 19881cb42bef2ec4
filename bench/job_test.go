//go:build bench

package bench

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// TestJobOutput follows a job that writes 40 MiB: what the budget drops does not come into this process.
func TestJobOutput(t *testing.T) {
	const size = 40 * mib
	m := machine(t, "busybox")
	follow := func() error {
		job, err := m.Shell("head -c 41943040 /dev/zero").StartJob(t.Context(), nil)
		if err != nil {
			return err
		}
		part, err := job.Poll(t.Context(), &smol.PollOptions{Wait: time.Minute})
		if err != nil {
			return err
		}
		if part.State != smol.JobExited || part.Stdout.Size != size || part.Stdout.Dropped != size-64<<10 {
			return fmt.Errorf("%s with %d bytes, %d dropped", part.State, part.Stdout.Size, part.Stdout.Dropped)
		}
		return nil
	}
	grown := heapGrowth(func() {
		if err := follow(); err != nil {
			t.Fatal(err)
		}
	})
	bound(t, grown <= 4*mib, "40 MiB of a job: heap +%.1f MiB (bound 4 MiB)", float64(grown)/mib)
}

// TestTimeout measures when a command with a time-out of a second, which leaves a process behind, is back with what it had written.
func TestTimeout(t *testing.T) {
	for _, image := range []string{"busybox", "dash", "bash"} {
		t.Run(image, func(t *testing.T) {
			m := machine(t, image)
			times := alternate(t, 9, func() error {
				c := m.Shell("echo partial; sleep 60 & sleep 60")
				c.Timeout = time.Second
				out, err := c.Output(t.Context())
				var exit *smol.ExitError
				if !errors.As(err, &exit) || !exit.TimedOut || string(out) != "partial\n" {
					return fmt.Errorf("%q, %v", out, err)
				}
				return nil
			})
			bound(t, times[0] <= 2500*time.Millisecond, "a time-out of 1 s in %s: back after %v (bound 2.5 s)", image, times[0])
		})
	}
}
