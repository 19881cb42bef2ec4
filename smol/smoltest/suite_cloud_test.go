package smoltest_test

import (
	"testing"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

func TestCloudBackend(t *testing.T) {
	script := smoltest.BackendGuest()
	for _, tt := range []struct {
		name, image string
		o           smoltest.CloudOptions
		only        string
	}{
		{"sandbox", "busybox", smoltest.CloudOptions{}, ""},
		{"sandbox, bash", "bash", smoltest.CloudOptions{}, jobsOnly},
		{"sandbox, dash", "dash", smoltest.CloudOptions{}, jobsOnly},
		{"script, old", "busybox", smoltest.CloudOptions{
			Guest: script, Errors: smoltest.ErrorsCodeError, DetachStarts: true, StartedConflict: true,
			Old: smoltest.OldCloud{NoUser: true, NoLabelFilter: true, NoReady: true, NoFinalUsage: true, ForkOnly: true, Running: true, Wrapped: true},
		}, ""},
	} {
		if tt.image == "dash" && rounds.N(1) == 1 {
			continue // that is what the local fleet has
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := smoltest.NewCloud(t, &tt.o)
			smoltest.TestBackend(t, &smoltest.BackendOptions{
				New: func(tb testing.TB) *smol.Fleet { return c.Service(tb).Fleet }, Fault: c.Fault, Image: tt.image, Only: tt.only,
			})
		})
	}
}
