package local_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

// machines are one bare and one with an image, named after that.
func (r *rig) machines() {
	r.t.Helper()
	r.guest.set(func(g *fakeGuest) { g.env = []string{"PATH=/image/bin", "FLAVOUR=vanilla"} })
	r.machine("bare", "")
	r.machine("image", "alpine")
}

func TestExecOutcome(t *testing.T) {
	r := newRig(t, local.Options{Grace: 200 * time.Millisecond})
	r.machines()
	for _, tt := range []struct {
		name, machine, body string
		want                execReply
	}{
		{"exit code", "bare", `{"command":["false"]}`, execReply{ExitCode: 3}},
		{"output is lossy as text and exact as base64", "bare", `{"command":["bytes"]}`, execReply{
			Stdout: "\ufffda\ufffd", Stderr: "oops", StdoutB64: "/2Higg==", StderrB64: "b29wcw==",
		}},
		{"stdin", "bare", `{"command":["cat"],"stdin":"a\nb"}`, execReply{Stdout: "a\nb", StdoutB64: "YQpi"}},
		{"no stdin", "bare", `{"command":["cat"]}`, execReply{}},
		{"timeout", "bare", `{"command":["sleep"],"timeoutSecs":1}`, execReply{ExitCode: 124}},
		{"timeout of zero", "bare", `{"command":["sleep"],"timeoutSecs":0}`, execReply{ExitCode: 124}},
		{"longest timeout", "bare", `{"command":["true"],"timeoutSecs":18446744073709551615}`, execReply{}},
		{"timeout in a container", "image", `{"command":["sleep"],"timeoutSecs":1}`, execReply{
			ExitCode: 124, Stderr: "\ncommand timed out after 1000ms", StderrB64: "CmNvbW1hbmQgdGltZWQgb3V0IGFmdGVyIDEwMDBtcw==",
		}},
		{"not found in a container", "image", `{"command":["nope"]}`, execReply{
			ExitCode: 1, Stderr: "executable file `nope` not found in $PATH: No such file or directory\n",
			StderrB64: base64.StdEncoding.EncodeToString([]byte("executable file `nope` not found in $PATH: No such file or directory\n")),
		}},
		{"held output in a container", "image", `{"command":["leave"]}`, execReply{}},
		{"background", "image", `{"command":["nope"],"background":true}`, execReply{Stdout: "pid=0\n", StdoutB64: "cGlkPTAK"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.t = t
			if got := r.exec(tt.machine, tt.body); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestExecRefusals(t *testing.T) {
	r := newRig(t, local.Options{Grace: 100 * time.Millisecond})
	r.machines()
	const denied = "; secret refs may only be resolved on the trusted local host"
	for _, tt := range []struct {
		name, machine, body string
		status              int
		text                string
	}{
		{"empty command", "bare", `{"command":[]}`, 400, "command cannot be empty"},
		{"not found", "bare", `{"command":["nope"]}`, 500, "agent operation failed: vm exec: failed to spawn command: No such file or directory (os error 2)"},
		{"no such directory", "bare", `{"command":["true"],"workdir":"/nowhere"}`, 500, "agent operation failed: vm exec: failed to spawn command: No such file or directory (os error 2)"},
		{"not found in the background", "bare", `{"command":["nope"],"background":true}`, 500, "agent operation failed: vm exec background: failed to spawn background command: No such file or directory (os error 2)"},
		{"held output", "bare", `{"command":["leave"],"timeoutSecs":0}`, 500, "agent operation failed: vm exec: io operation failed: Resource temporarily unavailable (os error 11)"},
		{"too much output", "bare", `{"command":["flood","12"]}`, 500, "agent operation failed: vm exec: command output exceeded 11534336 bytes and was truncated. Use streaming exec for large output"},
		{"bad name", "bare", `{"command":["true"],"env":[{"name":"1","value":""}]}`, 400, "env entry with 1-byte name rejected: env key must start with an ASCII letter or underscore"},
		{"secret", "bare", `{"command":["true"],"secrets":{"K":{"from_file":"/etc/passwd"}}}`, 400, "secret 'K': source kind 'file' is not allowed in scope Untrusted" + denied},
		{"unknown machine", "none", `{"command":["true"]}`, 404, "machine 'none' not found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.t = t
			r.want(tt.status, tt.text, "POST", api+"/"+tt.machine+"/exec", tt.body)
		})
	}
}

// A container's output stops near the limit without a word, and the program that writes on is told.
func TestExecOutputLimitInContainer(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machines()
	a := r.do("POST", api+"/image/exec", `{"command":["flood","12"]}`)
	const head = `{"exitCode":141,"stdout":"`
	if !strings.HasPrefix(a.body, head) || strings.IndexByte(a.body[len(head):], '"') != 11<<20 {
		t.Errorf("%d, %s… with %d bytes", a.status, a.body[:min(60, len(a.body))], len(a.body))
	}
}

// The whole input of a container is written before any output is read, so that one that gives back what it reads is stuck, and dies with
// its machine. A bare machine does both at once.
func TestExecStdinDeadlock(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machines()
	long := strings.Repeat("x", 200<<10)
	body := fmt.Sprintf(`{"command":["cat"],"stdin":%q}`, long)
	if out := r.exec("bare", body); out.Stdout != long {
		t.Errorf("bare: %d bytes of %d", len(out.Stdout), len(long))
	}
	stuck := r.begin(context.Background(), "POST", api+"/image/exec", body)
	eventually(t, "the command runs", func() bool { return r.guest.sleepers() == 1 })
	select {
	case <-stuck.done:
		t.Errorf("it was not stuck: %d", stuck.a.status)
	case <-time.After(100 * time.Millisecond):
	}
	r.want(200, "", "POST", api+"/image/stop", "")
	stuck.wait(t)
}

func TestExecEnvironment(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machines()
	r.want(200, "", "POST", api+"/image/images/pull", `{"image":"alpine"}`)
	const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, tt := range []struct{ name, url, body, want string }{
		{"bare", "/bare/exec", `{"command":["env"],"env":[{"name":"A","value":"1"},{"name":"TERM","value":"dumb"}]}`, "A=1 HOME=/root " + path + " SMOLVM_AGENT=1 TERM=dumb"},
		{"image", "/image/exec", `{"command":["env"],"env":[{"name":"FLAVOUR","value":"mint"}]}`, "FLAVOUR=mint HOME=/root PATH=/image/bin"},
		{"run", "/image/run", `{"image":"alpine","command":["env"],"env":[{"name":"A","value":"1"}]}`, "A=1 HOME=/root " + path + " TERM=xterm-256color"},
		{"bare directory", "/bare/exec", `{"command":["pwd"]}`, "dir= user="},
		{"image directory", "/image/exec", `{"command":["pwd"]}`, "dir=/image user="},
		{"run directory", "/image/run", `{"image":"alpine","command":["pwd"]}`, "dir=/ user="},
		{"own directory", "/image/exec", `{"command":["pwd"],"workdir":"/w"}`, "dir=/w user="},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out execReply
			r.want(200, "", "POST", api+tt.url, tt.body).decode(t, &out)
			words := strings.Split(strings.TrimSpace(out.Stdout), "\n")
			slices.Sort(words)
			if got := strings.Join(words, " "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestRun(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machines()
	r.want(500, "agent operation failed: run command: image not found: docker.io/library/busybox:latest", "POST", api+"/image/run", `{"image":"busybox","command":["true"]}`)
	r.want(200, "", "POST", api+"/image/run", `{"image":"alpine","command":["true"]}`)
	r.want(400, "command cannot be empty", "POST", api+"/image/run", `{"image":"alpine","command":[]}`)
	a := r.want(200, "", "POST", api+"/image/run", `{"image":"docker.io/library/alpine:latest","command":["sleep"],"timeoutSecs":0}`)
	if !strings.Contains(a.body, `"stderr":"\ncontainer timed out after 0ms"`) {
		t.Error(a.body)
	}
	if n := r.guest.count(); n != 2 {
		t.Errorf("%d machines run, want the two", n)
	}
	// A run ends with its machine.
	stuck := r.begin(context.Background(), "POST", api+"/image/run", `{"image":"alpine","command":["sleep"]}`)
	eventually(t, "the command runs", func() bool { return r.guest.sleepers() == 1 })
	r.want(200, "", "POST", api+"/image/stop", "")
	if a := stuck.wait(t); a.status != 500 {
		t.Errorf("it was answered with %d", a.status)
	}
	r.want(200, "", "POST", api+"/image/start", "")
	big := strings.Repeat("x", 32<<10+1)
	r.want(500, "", "POST", api+"/image/run", `{"image":"alpine","command":["true"],"env":[{"name":"A","value":"`+big+`"}]}`)
}

// A call that fails before its command runs gives its connection back.
func TestRefusalsHoldNoConnection(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machines()
	for range 10 {
		r.want(400, "", "POST", api+"/bare/exec", `{"command":["true"],"env":[{"name":"","value":""}]}`)
		r.want(500, "", "POST", api+"/bare/exec", `{"command":["nope"]}`)
		r.want(500, "", "POST", api+"/image/run", `{"image":"none","command":["true"]}`)
		r.want(500, "", "GET", api+"/bare/files/none", "")
		r.want(500, "", "PUT", api+"/bare/files/dir", "x")
		r.want(500, "", "POST", api+"/bare/images/pull", `{"image":"missing"}`)
		r.want(200, "", "POST", api+"/bare/exec/stream", `{"command":["nope"]}`)
	}
	if n := r.s.Reboots("bare") + r.s.Reboots("image"); n != 0 {
		t.Errorf("%d reboots", n)
	}
}
