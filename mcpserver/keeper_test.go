package mcpserver_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/internal/ledger"
	"github.com/smol-machines/smol-go/internal/private"
	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
)

// recorded returns the names on the record of a runtime directory.
func recorded(t *testing.T, dir string) []string {
	t.Helper()
	all, err := ledger.New(dir).Entries()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
	}
	return slices.Sorted(slices.Values(names))
}

// machines returns what a fleet has, by name.
func machines(t *testing.T, f *smol.Fleet) map[string]*smol.Info {
	t.Helper()
	out := map[string]*smol.Info{}
	for i, err := range f.List(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		out[i.Name] = i
	}
	return out
}

func names(t *testing.T, f *smol.Fleet) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(machines(t, f)))
}

// TestRecorded puts machines of the local fleet on record before they are asked for, and takes them off once they are gone.
func TestRecorded(t *testing.T) {
	t.Parallel()
	var dir string
	s, l := locally(t, func(o *mcpserver.Options) { dir = o.Config.RuntimeDir })
	fleet := l.Service(t).Fleet
	c := connect(t, s.Server, nil)
	c.call("create-machine", args{"image": "alpine", "network": "open", "name": "mcp-a", "branchable": true})
	c.call("create-machine", args{"image": "alpine", "network": "open", "name": "named", "start": false})
	c.call("branch-machine", args{"name": "mcp-a", "childName": "mcp-b"})
	c.call("branch-machine", args{"name": "mcp-a", "childName": "stays"})
	c.call("run-once", args{"image": "alpine", "network": "open", "command": "x"})
	if got, want := recorded(t, dir), []string{"mcp-a", "mcp-b"}; !slices.Equal(got, want) {
		t.Errorf("on record: %v, want %v", got, want)
	}
	c.call("delete-machine", args{"name": "mcp-b"})
	if got, want := recorded(t, dir), []string{"mcp-a"}; !slices.Equal(got, want) {
		t.Errorf("after a delete: %v, want %v", got, want)
	}
	// A branch that stays keeps its source: that is told, and left to a later start.
	if err := s.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "mcp-a") {
		t.Errorf("the source of a branch that stays: %v", err)
	}
	if got, want := names(t, fleet), []string{"mcp-a", "named", "stays"}; !slices.Equal(got, want) {
		t.Errorf("machines %v, want %v", got, want)
	}
	if got := recorded(t, dir); !slices.Equal(got, []string{"mcp-a"}) {
		t.Errorf("what was not deleted is not on record: %v", got)
	}
	if err := fleet.Machine("stays").Delete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	again(t, dir, fleet, nil)
	eventually(t, func() bool { return slices.Equal(names(t, fleet), []string{"named"}) })
}

// again starts a server as the next program on that host does.
func again(t *testing.T, dir string, local, cloud *smol.Fleet) *server {
	t.Helper()
	s := serve(t, func(o *mcpserver.Options) {
		o.Config.RuntimeDir, o.Config.Targets = dir, "local"
		if cloud != nil {
			o.Config.Targets = "both"
			o.Cloud = mcpserver.FixedFleet(cloud)
		}
		o.Local = mcpserver.FixedFleet(local)
	})
	near, far := mcp.NewInMemoryTransports()
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(t.Context(), far) }()
	conn, err := near.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); <-done })
	return s
}

// TestTaken leaves machines alone that have the name that was asked for, but are somebody else's.
func TestTaken(t *testing.T) {
	t.Parallel()
	var dir string
	s, l := locally(t, func(o *mcpserver.Options) { dir = o.Config.RuntimeDir })
	fleet := l.Service(t).Fleet
	open := smol.Spec{Name: "mcp-taken", Image: "alpine", Network: smol.Network{Open: true}}
	if _, err := fleet.Create(t.Context(), open, &smol.CreateOptions{Stopped: true}); err != nil {
		t.Fatal(err)
	}
	one, two := connect(t, s.Server, nil), connect(t, s.Server, nil)
	one.fails(mcpserver.CodeConflict, "create-machine", args{"image": "alpine", "network": "open", "name": "mcp-taken"})
	one.call("create-machine", args{"image": "alpine", "network": "open", "name": "mcp-one", "start": false})
	one.fails(mcpserver.CodeConflict, "create-machine", args{"image": "alpine", "network": "open", "name": "mcp-one"})
	two.fails(mcpserver.CodeConflict, "create-machine", args{"image": "alpine", "network": "open", "name": "mcp-one"})
	if got := recorded(t, dir); !slices.Equal(got, []string{"mcp-one"}) {
		t.Errorf("on record: %v", got)
	}
	two.Close()
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := names(t, fleet); !slices.Equal(got, []string{"mcp-taken"}) {
		t.Errorf("left: %v", got)
	}
}

// TestLabels marks what goes with its session in the cloud, and only that.
func TestLabels(t *testing.T) {
	t.Parallel()
	var dir string
	s, cl := inCloud(t, func(o *mcpserver.Options) { dir = o.Config.RuntimeDir })
	fleet := cl.Service(t).Fleet
	c := connect(t, s.Server, nil)
	if _, err := fleet.Create(t.Context(), smol.Spec{Name: "base", Image: "alpine", Branchable: true, Labels: map[string]string{"team": "red"}}, nil); err != nil {
		t.Fatal(err)
	}
	c.call("create-machine", args{"image": "alpine", "name": "mcp-a", "branchable": true})
	c.call("create-machine", args{"image": "alpine", "name": "named", "start": false})
	for child, source := range map[string]string{"mcp-b": "mcp-a", "stays": "mcp-a", "mcp-c": "base", "plain": "base"} {
		c.call("branch-machine", args{"name": source, "childName": child})
	}
	host, err := ledger.New(dir).KnownHost()
	if err != nil || host == "" {
		t.Fatalf("the host is %q: %v", host, err)
	}
	for name, i := range machines(t, fleet) {
		ephemeral := strings.HasPrefix(name, "mcp-")
		if marked := i.Labels["smol-mcp-host"] == host && len(i.Labels["smol-mcp-session"]) == 8; marked != ephemeral {
			t.Errorf("%s has the labels %v", name, i.Labels)
		}
		if red := i.Labels["team"] == "red"; red != slices.Contains([]string{"base", "mcp-c", "plain"}, name) {
			t.Errorf("%s has the labels %v", name, i.Labels)
		}
		if name == "mcp-a" && (i.DeletesAt.Sub(i.CreatedAt).Round(time.Minute) != time.Hour) {
			t.Errorf("%s is deleted at %v", name, i.DeletesAt)
		}
	}
	_ = s.Close(t.Context()) // the branch that stays may keep its source
	if got := without(names(t, fleet), "mcp-a"); !slices.Equal(got, []string{"base", "named", "plain", "stays"}) {
		t.Errorf("left: %v", got)
	}
}

func without(all []string, name string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == name })
}

// TestUnrecordable makes no ephemeral machine that would be forgotten by a crash, and says what to do.
func TestUnrecordable(t *testing.T) {
	t.Parallel()
	var dir string
	s, l := locally(t, func(o *mcpserver.Options) { dir = o.Config.RuntimeDir })
	if err := private.MakeDir(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "machines.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := connect(t, s.Server, nil)
	for tool, in := range map[string]args{"create-machine": {"image": "alpine", "network": "open"}, "run-once": {"image": "alpine", "network": "open", "command": "x"}} {
		if text := c.fails(mcpserver.CodeInternal, tool, in); !strings.Contains(text, path) || !strings.Contains(text, "remove the file") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	c.call("create-machine", args{"image": "alpine", "network": "open", "name": "named", "start": false})
	if n := l.Count("POST", "/api/v1/machines"); n != 1 {
		t.Errorf("the fleet was asked for %d machines", n)
	}
	if b, err := os.ReadFile(path); !bytes.Equal(b, []byte("{")) || err != nil {
		t.Errorf("the record is %q now, %v", b, err)
	}
}

// eventually waits until the condition holds.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	look, end := time.NewTicker(2*time.Millisecond), time.After(30*time.Second)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-end:
			t.Fatal("it never came about")
		}
	}
}
