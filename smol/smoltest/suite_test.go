package smoltest_test

import (
	"testing"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// localBackend starts a stand-in of the local service for the suite.
func localBackend(tb testing.TB, o *smoltest.Options, image string) *smoltest.BackendOptions {
	tb.Helper()
	l := smoltest.NewLocal(tb, o)
	return &smoltest.BackendOptions{
		New: func(tb testing.TB) *smol.Fleet { return l.Service(tb).Fleet }, Fault: l.Fault, Image: image,
	}
}

func TestLocalBackend(t *testing.T) {
	script := smoltest.BackendGuest()
	for _, tt := range []struct {
		name, image string
		o           smoltest.Options
		only        string
	}{
		{"sandbox", "", smoltest.Options{}, ""},
		{"sandbox, image, newest", "busybox", smoltest.Options{TCP: true, Version: "1.22.2"}, ""},
		{"script, old", "", smoltest.Options{Guest: script, Version: "1.0.0"}, ""},
		{"sandbox, dash", "dash", smoltest.Options{}, jobsOnly},
		{"sandbox, bash", "bash", smoltest.Options{}, jobsOnly},
	} {
		if tt.image == "bash" && rounds.N(1) == 1 {
			continue // that is what the cloud has
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := localBackend(t, &tt.o, tt.image)
			o.Only = tt.only
			smoltest.TestBackend(t, o)
		})
	}
}

// jobsOnly are the rows about jobs, which run on every shell; all others of the library's scripts are tested with internal/guest.
const jobsOnly = "job/"
