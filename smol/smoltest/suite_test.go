package smoltest_test

import (
	"testing"

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
	}{
		{"sandbox", "", smoltest.Options{}},
		{"sandbox, image, newest", "busybox", smoltest.Options{TCP: true, Version: "1.22.2"}},
		{"script, old", "", smoltest.Options{Guest: script, Version: "1.0.0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			smoltest.TestBackend(t, localBackend(t, &tt.o, tt.image))
		})
	}
}
