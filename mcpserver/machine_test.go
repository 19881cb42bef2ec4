package mcpserver_test

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// TestEphemeralMachinesGo holds that machines of the prefix go with their session, branches too, and that others stay.
func TestEphemeralMachinesGo(t *testing.T) {
	t.Parallel()
	s, _ := locally(t, nil)
	mine, other := connect(t, s.Server, nil), connect(t, s.Server, nil)
	made := mine.call("create-machine", args{"image": "alpine", "network": "open", "branchable": true})
	name := made["machine"].(map[string]any)["name"].(string)
	if !regexp.MustCompile(`^mcp-[0-9a-f]{8}$`).MatchString(name) || made["ephemeral"] != true {
		t.Errorf("made %v", made)
	}
	mine.call("create-machine", args{"image": "alpine", "name": "kept", "network": "open"})
	mine.call("branch-machine", args{"name": name, "childName": "mcp-child"})
	theirs := other.call("create-machine", args{"image": "alpine", "network": "open", "start": false})["machine"].(map[string]any)["name"].(string)
	if err := mine.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"kept", theirs}
	await(t, func() bool {
		return cmp.Equal(want, listNames(other)) || cmp.Equal([]string{theirs, "kept"}, listNames(other))
	})
}

func TestCreateMachine(t *testing.T) {
	t.Parallel()
	s, l := locally(t, nil)
	c := connect(t, s.Server, nil)
	c.call("create-machine", args{"image": "alpine", "name": "box", "allowHosts": args2("example.org"), "network": "open"})
	if got := c.call("get-machine", args{"name": "box"})["network"]; got != "allow(example.org)" {
		t.Errorf("the network is %v", got)
	}
	if text := c.fails(mcpserver.CodeConflict, "create-machine", args{"image": "alpine", "name": "box", "network": "open"}); !strings.Contains(text, "start-machine") {
		t.Errorf("a name that is taken: %s", text)
	}
	stopped := c.call("create-machine", args{"image": "alpine", "name": "later", "network": "open", "start": false, "ports": []any{args{"guest": 80}}})
	if stopped["ready"] != false {
		t.Errorf("not started: %v", stopped)
	}
	ports := stopped["machine"].(map[string]any)["ports"].([]any)
	if len(ports) != 1 || ports[0].(map[string]any)["guest"] != 80.0 || ports[0].(map[string]any)["host"] == nil {
		t.Errorf("where the port of the machine is: %v", ports)
	}
	if got := c.call("start-machine", args{"name": "later", "wait": false}); got["ready"] != false {
		t.Errorf("nobody waited: %v", got)
	}
	c.fails(mcpserver.CodeNotFound, "create-machine", args{"image": "missing", "network": "open"})
	if text := c.fails(mcpserver.CodeInvalid, "create-machine", args{"image": "alpine"}); !strings.Contains(text, "network: open") {
		t.Errorf("a blocked create: %s", text)
	}
	l.Fault(smoltest.Fault{Method: "POST", Path: "/api/v1/machines", Times: 1, Action: smoltest.Fail, Status: 400, ContentType: "application/json", Body: `{"error":"no way out","code":"BAD_REQUEST"}`})
	if text := c.fails(mcpserver.CodeInvalid, "create-machine", args{"image": "alpine"}); !strings.Contains(text, "network: open") || !strings.Contains(text, "no way out") {
		t.Errorf("a blocked create: %s", text)
	}
	if diff := cmp.Diff([]string{"box", "later"}, listNames(c)); diff != "" {
		t.Errorf("what failed left machines: %s", diff)
	}
	if text := c.fails(mcpserver.CodeConflict, "branch-machine", args{"name": "box", "childName": "twig"}); !strings.Contains(text, "ranch") {
		t.Errorf("a branch of what is not branchable: %s", text)
	}
}

func TestMounts(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil && runtime.GOOS != "windows" { // making links needs a right there
		t.Fatal(err)
	}
	top := filepath.VolumeName(root) + string(filepath.Separator)
	s, _ := locally(t, func(o *mcpserver.Options) { o.Config.MountRoots = []string{root} })
	c := connect(t, s.Server, nil)
	mount := func(source string) args {
		return args{"image": "alpine", "network": "open", "start": false, "mounts": []any{args{"source": source, "target": "/mnt"}}}
	}
	c.call("create-machine", mount(filepath.Join(root, "in")))
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for code, sources := range map[mcpserver.ErrorCode][]string{
		mcpserver.CodeForbidden: {outside, filepath.Join(root, "link"), filepath.Join(root, "..", filepath.Base(outside)), top, root + "x", filepath.Join(top, "etc", "passwd")},
		mcpserver.CodeInvalid:   {"relative", "", root + "\x00", file},
	} {
		for _, source := range sources {
			if text := c.fails(code, "create-machine", mount(source)); !strings.Contains(text, "mounts[0].source: not ") {
				t.Errorf("%q: %s", source, text)
			}
		}
	}
	// What is there outside is not told.
	if there, missing := c.fails(mcpserver.CodeForbidden, "create-machine", mount(outside)), c.fails(mcpserver.CodeForbidden, "create-machine", mount(outside+"x")); there != missing {
		t.Errorf("%q and %q", there, missing)
	}
	c.fails(mcpserver.CodeInvalid, "create-machine", args{"image": "alpine", "env": args{"TOKEN": 12345}})
	if log := s.log.String(); strings.Contains(log, "12345") || !strings.Contains(log, "INVALID") {
		t.Errorf("the log has arguments, or no failures:\n%s", log)
	}
}

func TestCloudRefusesByName(t *testing.T) {
	t.Parallel()
	s, cl := inCloud(t, nil)
	c := connect(t, s.Server, nil)
	for what, more := range map[string]args{
		"mounts":        {"mounts": []any{args{"source": "/tmp", "target": "/mnt"}}},
		"overlayGb":     {"overlayGb": 5},
		"ports[0].host": {"ports": []any{args{"guest": 80, "host": 8080}}},
	} {
		more["image"] = "alpine"
		if text := c.fails(mcpserver.CodeUnsupported, "create-machine", more); !strings.Contains(text, what) {
			t.Errorf("%s: %s", what, text)
		}
	}
	if n := cl.Count("POST", "/v1/machines"); n != 0 {
		t.Errorf("%d creates were sent", n)
	}
	made := c.call("create-machine", args{"image": "alpine"})["machine"].(map[string]any)
	if made["deletesAt"] == nil || made["network"] != "blocked" {
		t.Errorf("an ephemeral machine is %v", made)
	}
	deleted := c.call("delete-machine", args{"name": made["name"]})
	if deleted["deleted"] != made["name"] || deleted["usage"] == nil || deleted["cost"] == nil {
		t.Errorf("a delete says %v", deleted)
	}
}

// await waits until the condition holds.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	for range 2000 {
		if holds() {
			return
		}
	}
	t.Fatal("it never came about")
}
