//go:build linux || darwin

package main_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/smol"
)

// TestSessions deletes the ephemeral machines of a session on both fleets, however it ends, and nothing else.
func TestSessions(t *testing.T) {
	t.Parallel()
	bin := program(t, "smol-mcp")
	t.Run("kill", func(t *testing.T) {
		t.Parallel()
		testKill(t, newHost(t, bin))
	})
	for name, end := range map[string]func(p *process){
		"end of input": func(p *process) { p.in.Close() },
		"SIGTERM":      func(p *process) { p.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGINT":       func(p *process) { p.cmd.Process.Signal(os.Interrupt) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, bin)
			p := h.start()
			p.initialize()
			names := p.create()
			p.call("create-machine", args{"target": "local", "image": "alpine", "name": "named", "start": false})
			p.call("create-machine", args{"target": "cloud", "image": "alpine", "name": "named", "start": false})
			h.wait("the machines to be there", func(l, c []string) bool { return has(l, names[0], "named") && has(c, names[1], "named") })
			end(p)
			p.exited()
			if l, c := h.list(); len(l) != 1 || len(c) != 1 || l[0] != "named" || c[0] != "named" {
				t.Errorf("left: %v, %v", l, c)
			}
			for _, name := range names {
				if !strings.Contains(p.stderr.String(), name) {
					t.Errorf("standard error does not say that %s was deleted:\n%s", name, &p.stderr)
				}
			}
			if files, _ := filepath.Glob(filepath.Join(h.run, "sessions", "*")); len(files) > 0 {
				t.Errorf("the session leaves %v", files)
			}
		})
	}
}

// testKill kills programs at random moments. The next start deletes what they had on either fleet, and touches nobody else's.
func testKill(t *testing.T, h *host) {
	alive := h.start()
	alive.initialize()
	kept := alive.create()
	id, err := os.ReadFile(filepath.Join(h.run, "host-id"))
	if err != nil {
		t.Fatal(err)
	}
	local, cloud := h.local.Service(t).Fleet, h.cloud.Service(t).Fleet
	host := strings.TrimSpace(string(id))
	for _, o := range []struct {
		fleet  *smol.Fleet
		name   string
		labels map[string]string
	}{
		{local, "mcp-other", nil},
		{local, "named", nil},
		{cloud, "mcp-other", map[string]string{"smol-mcp-host": "0123456789abcdef", "smol-mcp-session": "01234567"}},
		{cloud, "mcp-plain", nil},
		{cloud, "mcp-odd", map[string]string{"smol-mcp-host": host, "smol-mcp-session": "..-host-id"}},
		{cloud, "named", map[string]string{"smol-mcp-host": host, "smol-mcp-session": "01234567"}},
	} {
		if _, err := o.fleet.Create(t.Context(), smol.Spec{Name: o.name, Image: "alpine", Network: smol.Network{Open: true}, Labels: o.labels}, &smol.CreateOptions{Stopped: true}); err != nil {
			t.Fatal(err)
		}
	}
	strangers := [2][]string{{"mcp-other", "named", kept[0]}, {"mcp-odd", "mcp-other", "mcp-plain", "named", kept[1]}}
	h.wait("nobody else's", func(l, c []string) bool { return equal(l, strangers[0]) && equal(c, strangers[1]) })

	seen := 0
	var left [2][]string
	for range rounds.Soak(20, 200) {
		p := h.start()
		p.initialize()
		h.wait("the next start to delete what was left", func(l, c []string) bool { return !hasAny(l, left[0]) && !hasAny(c, left[1]) })
		for _, target := range []string{"local", "cloud"} {
			p.ask("tools/call", args{"name": "create-machine", "arguments": args{"target": target, "image": "alpine"}})
			p.ask("tools/call", args{"name": "create-machine", "arguments": args{"target": target, "image": "alpine", "start": false}})
			p.ask("tools/call", args{"name": "run-once", "arguments": args{"target": target, "image": "alpine", "command": []string{"hang"}}})
		}
		<-time.After(rand.N(60 * time.Millisecond)) // the random moment
		p.kill()
		l, c := h.settled()
		left = [2][]string{without(l, strangers[0]), without(c, strangers[1])}
		seen += len(left[0]) + len(left[1])
	}
	if seen == 0 {
		t.Error("no machine was ever left, so that this test shows nothing")
	}
	last := h.start()
	h.wait("the last start to leave nobody but others", func(l, c []string) bool { return equal(l, strangers[0]) && equal(c, strangers[1]) })
	last.in.Close()
	last.exited()
	alive.in.Close()
	alive.exited()
	h.wait("the session that lived to take its machines along", func(l, c []string) bool {
		return equal(l, without(strangers[0], kept[:])) && equal(c, without(strangers[1], kept[:]))
	})
}

func has(all []string, names ...string) bool { return len(without(names, all)) == 0 }

func hasAny(all, names []string) bool { return len(without(names, all)) < len(names) }

func equal(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

func without(all, names []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(names, s) })
}
