package local_test

import (
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

var errBroken = errors.New("broken")

// onDisk lists what the data directory holds.
func (r *rig) onDisk() string {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.opts.DataDir, "*", "*"))
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Join(files, " ")
}

// A branch that fails leaves the source running and nothing else.
func TestBranchFails(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	port := itoa(busy.Addr().(*net.TCPAddr).Port)
	for _, tt := range []struct {
		name, op, body string
		status         int
		text           string
	}{
		{"freeze", "freeze", `{"name":"c"}`, 500, "agent operation failed: fork: broken"},
		{"copy", "copy", `{"name":"c"}`, 500, "agent operation failed: fork: broken"},
		{"boot", "", `{"name":"c"}`, 500, "agent operation failed: start agent: broken"},
		{"port", "", `{"name":"c","ports":[{"host":` + port + `,"guest":80}]}`, 409, "Address already in use (os error 98)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, local.Options{Version: "1.18.2"})
			r.want(200, "", "POST", api, `{"name":"g"}`)
			r.want(200, "", "POST", api+"/g/start?branchable=true", "")
			before := r.onDisk()
			r.guest.fail(tt.op, errBroken)
			if tt.name == "boot" {
				r.guest.set(func(g *fakeGuest) { g.bootErr = errBroken })
			}
			r.want(tt.status, tt.text, "POST", api+"/g/branches", tt.body)
			r.guest.fail(tt.op, nil)
			r.guest.set(func(g *fakeGuest) { g.bootErr = nil })
			if got := r.state("g"); got != "running" || r.guest.count() != 1 {
				t.Errorf("the source is %s, %d machines run", got, r.guest.count())
			}
			if after := r.onDisk(); after != before {
				t.Errorf("on disk\n%s\nwant\n%s", after, before)
			}
			r.want(404, "", "GET", api+"/c", "")
			r.exec("g", `{"command":["true"]}`)
			r.want(200, "", "POST", api+"/g/branches", `{"name":"c"}`)
		})
	}
}

// A clone without ports of its own has the source's on other ports of the host.
func TestBranchPorts(t *testing.T) {
	r := newRig(t, local.Options{})
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	r.want(200, "", "POST", api, `{"name":"g","ports":[{"host":`+itoa(port)+`,"guest":80}]}`)
	r.want(200, "", "POST", api+"/g/start?branchable=true", "")
	var clone struct {
		Ports []struct{ Host, Guest int }
	}
	r.want(200, "", "POST", api+"/g/branches", `{"name":"c"}`).decode(t, &clone)
	if len(clone.Ports) != 1 || clone.Ports[0].Guest != 80 || clone.Ports[0].Host == port || clone.Ports[0].Host == 0 {
		t.Fatalf("ports %+v, the source's is %d", clone.Ports, port)
	}
	c, err := net.Dial("tcp", "127.0.0.1:"+itoa(clone.Ports[0].Host))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestPauseFails(t *testing.T) {
	r := newRig(t, local.Options{Version: "1.18.0"})
	r.want(200, "", "POST", api, `{"name":"m"}`)
	r.want(409, "machine 'm' is not running", "POST", api+"/m/pause", `{}`)
	r.want(200, "", "POST", api+"/m/start", "")
	r.guest.fail("freeze", errBroken)
	r.want(500, "agent operation failed: pause: broken", "POST", api+"/m/pause", `{}`)
	if got := r.state("m"); got != "running" {
		t.Errorf("it is %s", got)
	}
	r.guest.fail("freeze", nil)
	r.want(200, "", "POST", api+"/m/pause", `{}`)
	r.want(409, "machine 'm' is already paused", "POST", api+"/m/pause", `{}`)
	r.guest.fail("thaw", errBroken)
	r.want(500, "agent operation failed: resume: broken", "POST", api+"/m/resume", `{}`)
	if got := r.state("m"); got != "paused" {
		t.Errorf("after a failed resume it is %s", got)
	}
	r.guest.fail("thaw", nil)
	r.want(200, "", "POST", api+"/m/resume", `{}`)
}

func TestCheckpointFails(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	for _, op := range []string{"freeze", "copy"} {
		r.guest.fail(op, errBroken)
		r.want(500, "agent operation failed: checkpoint: broken", "POST", api+"/m/checkpoint", "")
		r.guest.fail(op, nil)
		r.exec("m", `{"command":["true"]}`)
	}
	r.want(404, "machine 'none' not found", "POST", api+"/none/checkpoint", "")
}

// A machine that cannot be ended is not taken for stopped, nor is its record removed.
func TestKillFails(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	r.guest.fail("kill", errBroken)
	r.want(500, "machine 'm' process may still be running after stop attempt", "POST", api+"/m/stop", "")
	r.want(500, "machine 'm' process (pid 4242) is still alive after shutdown; not removing", "DELETE", api+"/m", "")
	if got := r.state("m"); got != "running" {
		t.Errorf("it is %s", got)
	}
	r.guest.fail("kill", nil)
	r.guest.fail("remove", errBroken) // which is best effort
	r.want(200, "", "DELETE", api+"/m", "")
	r.want(404, "", "GET", api+"/m", "")
	r.guest.fail("remove", nil)
	r.want(200, "", "POST", api, `{"name":"m"}`)
}

func TestAdoptFails(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	r.down()
	r.guest.fail("adopt", errBroken)
	if _, err := local.New(&r.opts); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "machine m") {
		t.Errorf("New returned %v", err)
	}
	r.guest.fail("adopt", nil)
	r.up()
	if got := r.state("m"); got != "running" {
		t.Errorf("it is %s", got)
	}
}

// Without a place to write records nothing is made, and what runs is ended again.
func TestDatabaseFails(t *testing.T) {
	r := newRig(t, local.Options{})
	r.want(200, "", "POST", api, `{"name":"m"}`)
	records := filepath.Join(r.opts.DataDir, "records")
	if err := os.Rename(records, records+"-away"); err != nil {
		t.Fatal(err)
	}
	for _, req := range [][2]string{{"POST", api}, {"POST", api + "/m/start"}, {"POST", api + "/m/resize"}, {"POST", api + "/m/exec"}} {
		body := map[string]string{api: `{"name":"n"}`, api + "/m/resize": `{"storageGb":30}`, api + "/m/exec": `{"command":["true"]}`}[req[1]]
		a := r.do(req[0], req[1], body)
		if a.status != http.StatusInternalServerError || !strings.Contains(a.body, `"error":"database error: `) {
			t.Errorf("%s: %d %s", req[1], a.status, a.body)
		}
	}
	if n := r.guest.count(); n != 0 {
		t.Errorf("%d machines run", n)
	}
	r.want(404, "", "GET", api+"/n", "")
	if err := os.Rename(records+"-away", records); err != nil {
		t.Fatal(err)
	}
	r.want(200, "", "POST", api+"/m/start", "")
}

func TestNotStarted(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machines()
	for cmd, want := range map[string][2]string{
		"denied": {"failed to spawn command: Permission denied (os error 13)", "open executable `denied`: Permission denied\n"},
		"long":   {"failed to spawn command: Argument list too long (os error 7)", "Argument list too long (os error 7)\n"},
		"nobody": {"failed to spawn command: cannot run as that user", "cannot run as that user\n"},
	} {
		r.want(500, "agent operation failed: vm exec: "+want[0], "POST", api+"/bare/exec", `{"command":["`+cmd+`"]}`)
		if out := r.exec("image", `{"command":["`+cmd+`"]}`); out.ExitCode != 1 || out.Stderr != want[1] {
			t.Errorf("%s in a container: %+v", cmd, out)
		}
	}
	r.want(500, "agent operation failed: vm exec: odd", "POST", api+"/bare/exec", `{"command":["odd"]}`)
	r.want(500, "agent operation failed: run command: odd", "POST", api+"/image/exec", `{"command":["odd"]}`)
	r.want(500, "agent operation failed: vm exec background: odd", "POST", api+"/bare/exec", `{"command":["odd"],"background":true}`)
	if out := r.exec("image", `{"command":["true"],"workdir":"/nowhere"}`); out.ExitCode != 1 || out.Stderr != "chdir to `/nowhere`: No such file or directory\n" {
		t.Errorf("%+v", out)
	}
	r.guest.fail("write", errBroken)
	r.want(500, "agent operation failed: write file: failed to write /f: broken", "PUT", api+"/bare/files/f", "x")
}

// Each longest run of bytes that begins a character and does not end it is one replacement character.
func TestLossyText(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	for in, want := range map[string]string{
		"plain é €":        "plain é €",
		"\xff\xfe":         "??",
		"\xc3":             "?",
		"\xc3(":            "?(",
		"\xc0\x80":         "??",
		"\xe2\x82":         "?",
		"\xe2\x82x":        "?x",
		"\xe2x":            "?x",
		"\xe0\x80\x80":     "???",
		"\xed\xa0\x80":     "???",
		"\xf0\x9f\x98":     "?",
		"\xf0\x9f\x98\xff": "??",
		"\xf0\x80\x80\x80": "????",
		"\xf4\x90\x80\x80": "????",
		"\xf5":             "?",
		"\x80a\xbf":        "?a?",
	} {
		b64 := base64.StdEncoding.EncodeToString([]byte(in))
		out := r.exec("m", `{"command":["raw","`+b64+`"]}`)
		if got := strings.ReplaceAll(out.Stdout, "\ufffd", "?"); got != want || out.StdoutB64 != b64 {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
