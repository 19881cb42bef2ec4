package smoltest_test

import (
	"testing"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

func TestCloudBackend(t *testing.T) {
	script := smoltest.BackendGuest()
	for _, tt := range []struct {
		name string
		o    smoltest.CloudOptions
	}{
		{"sandbox", smoltest.CloudOptions{}},
		{"script, old", smoltest.CloudOptions{
			Guest: script, Errors: smoltest.ErrorsCodeError, DetachStarts: true, StartedConflict: true,
			Old: smoltest.OldCloud{NoUser: true, NoLabelFilter: true, NoReady: true, NoFinalUsage: true, ForkOnly: true, Running: true, Wrapped: true},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := smoltest.NewCloud(t, &tt.o)
			smoltest.TestBackend(t, &smoltest.BackendOptions{
				New: func(tb testing.TB) *smol.Fleet { return c.Service(tb).Fleet }, Fault: c.Fault, Image: "busybox",
			})
		})
	}
}
