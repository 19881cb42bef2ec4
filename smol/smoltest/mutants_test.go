package smoltest_test

import (
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// suiteOf returns options for the suite on a stand-in, with the backend wrapped.
func suiteOf(t *testing.T, wrap func(smol.Backend) smol.Backend) *smoltest.BackendOptions {
	t.Helper()
	o := localBackend(t, &smoltest.Options{Guest: smoltest.BackendGuest()}, "")
	whole := o.New
	o.New = func(tb testing.TB) *smol.Fleet { return smol.NewFleet(wrap(whole(tb).Backend())) }
	return o
}

// TestMutants: the suite fails on each mutant, and not on the backend that they are made from.
func TestMutants(t *testing.T) {
	for f := range smoltest.CheckBackend(t.Context(), suiteOf(t, func(b smol.Backend) smol.Backend { return b })) {
		t.Errorf("without a fault: %v", f)
	}
	names := map[string]bool{}
	for _, m := range smoltest.Mutants() {
		if names[m.Name] || m.Name == "" || m.What == "" {
			t.Errorf("mutant %q has the name of another one, or says nothing", m.Name)
		}
		names[m.Name] = true
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			o := suiteOf(t, m.Wrap)
			o.Timeout = 5 * time.Second
			if o.Only = m.Row(); o.Only == "" {
				t.Error("no row is named that finds it") // and all are tried
			}
			for f := range smoltest.CheckBackend(t.Context(), o) {
				t.Logf("caught by %v", f)
				return
			}
			t.Errorf("survives: %s", m.What)
		})
	}
	if len(names) < 20 {
		t.Errorf("%d mutants, want at least 20", len(names))
	}
}
