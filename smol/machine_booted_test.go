package smol_test

import (
	"context"
	"testing"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// TestStoppedMachines makes a machine that is not booted, and tells apart which call boots it.
func TestStoppedMachines(t *testing.T) {
	t.Parallel()
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: smoltest.Script(func(_ context.Context, c *smoltest.Call) int {
		if c.Argv[0] == "who" && c.Getenv("WHO") == "me" {
			return 0
		}
		return smoltest.NotFound
	})})
	fleet := l.Service(t).Fleet
	for _, spec := range []smol.Spec{{Name: "plain"}, {Name: "stored", Env: map[string]string{"WHO": "me"}}} {
		m, err := fleet.Create(t.Context(), spec, &smol.CreateOptions{Stopped: true})
		if err != nil {
			t.Fatal(err)
		}
		info, err := m.Info(t.Context())
		if err != nil || info.State != smol.StateStopped {
			t.Fatalf("%s is %v, %v", spec.Name, info, err)
		}
		if m.Booted() {
			t.Errorf("%s: the create counts as a boot", spec.Name)
		}
	}
	if n := l.Count("POST", "/api/v1/machines/plain/start"); n != 0 {
		t.Errorf("the machine without anything to store was booted %d times", n)
	}
	m := fleet.Machine("stored")
	if err := m.Command("who").Run(t.Context()); err != nil {
		t.Errorf("the environment was not stored: %v", err)
	}
	if !m.Booted() {
		t.Error("a command booted the machine, and Booted says no")
	}
	if again := fleet.Machine("stored"); again.Command("who").Run(t.Context()) != nil || again.Booted() {
		t.Error("a command in a machine that runs counts as a boot")
	}
}
