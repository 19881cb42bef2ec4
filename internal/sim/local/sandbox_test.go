package local_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
	"github.com/smol-machines/smol-go/internal/simtest"
)

// onSandbox is a server whose machines are real.
func onSandbox(t *testing.T, o local.Options) *rig {
	t.Helper()
	o.Guest = simtest.Sandbox(t)
	if o.Probe == 0 {
		o.Probe = 5 * time.Second
	}
	return newRig(t, o)
}

// sh runs a script in the machine and returns its output.
func (r *rig) sh(name, script string) string {
	r.t.Helper()
	out := r.exec(name, fmt.Sprintf(`{"command":["sh","-c",%q]}`, script))
	if out.ExitCode != 0 {
		r.t.Errorf("%s: exit code %d, %s", script, out.ExitCode, out.Stderr)
	}
	return out.Stdout
}

// runs reports whether a process with the word as an argument runs in the machine.
func (r *rig) runs(name, word string) bool {
	r.t.Helper()
	out := r.exec(name, `{"command":["sh","-c","for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null"]}`)
	return strings.Contains(out.Stdout, " "+word+" ")
}

// What a time-out ends differs by where the command runs, and how.
func TestTimeoutReach(t *testing.T) {
	r := onSandbox(t, local.Options{Grace: 300 * time.Millisecond})
	r.machine("bare", "")
	r.machine("image", "debian")
	const held = "agent operation failed: vm exec: io operation failed: Resource temporarily unavailable (os error 11)"
	for _, tt := range []struct {
		name, machine, route, script string
		status                       int
		text                         string
		survives                     bool
	}{
		{"group", "bare", "/exec", "sleep N & wait", 200, "", false},
		{"another session", "bare", "/exec", "setsid sleep N & wait", 500, held, true},
		{"tree", "image", "/exec", "setsid sleep N & wait", 200, "", false},
		{"stream", "bare", "/exec/stream", "sleep N & wait", 200, "", true},
		{"held by a child", "bare", "/exec", "sleep N &", 500, held, true},
		{"held by a child in a container", "image", "/exec", "sleep N & echo done", 200, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.t = t
			mark := fmt.Sprint(10000 + len(tt.name)*100 + len(tt.machine))
			script := strings.ReplaceAll(tt.script, "N", mark)
			r.want(tt.status, tt.text, "POST", api+"/"+tt.machine+tt.route, fmt.Sprintf(`{"command":["sh","-c",%q],"timeoutSecs":1}`, script))
			if got := r.runs(tt.machine, mark); got != tt.survives {
				t.Errorf("the child survives: %v, want %v", got, tt.survives)
			}
		})
	}
}

// What a run writes goes with it, but for what it writes to mounts.
func TestRunIsThrownAway(t *testing.T) {
	r := onSandbox(t, local.Options{})
	host := t.TempDir()
	if err := os.Chmod(host, 0o777); err != nil { // a sandbox of an ordinary kernel may be nobody there
		t.Fatal(err)
	}
	r.want(200, "", "POST", api, fmt.Sprintf(`{"name":"m","image":"bash","network":true,"mounts":[{"source":%q,"target":"/data"}]}`, host))
	r.want(200, "", "POST", api+"/m/start", "")
	r.want(200, "", "POST", api+"/m/images/pull", `{"image":"busybox"}`)
	r.sh("m", "echo theirs >/root/f")
	for range 2 {
		var out execReply
		body := `{"image":"busybox","command":["sh","-c","ls /root; echo own >/root/f; cat /root/f; echo kept >/data/f; command -v bash || echo no bash; sleep 12345 >/dev/null 2>&1 &"]}`
		r.want(200, "", "POST", api+"/m/run", body).decode(t, &out)
		if want := "own\nno bash\n"; out.Stdout != want || out.ExitCode != 0 {
			t.Errorf("got %+v, want %q", out, want)
		}
	}
	if got := r.sh("m", "cat /root/f /data/f"); got != "theirs\nkept\n" {
		t.Errorf("afterwards the machine has %q", got)
	}
	if left, err := filepath.Glob(filepath.Join(r.opts.DataDir, "vms", "*", "scratch-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestRealCommands(t *testing.T) {
	r := onSandbox(t, local.Options{})
	r.machine("bare", "")
	if out := r.exec("bare", `{"command":["sh","-c","kill -TERM $$"]}`); out.ExitCode != 143 {
		t.Errorf("death by signal: %+v", out)
	}
	if out := r.exec("bare", `{"command":["sh","-c","printf '\\377\\000a'; cat >&2; exit 9"],"stdin":"in"}`); out.ExitCode != 9 || out.StdoutB64 != "/wBh" || out.Stderr != "in" {
		t.Errorf("got %+v", out)
	}
	if got := r.sh("bare", "id -u; pwd; hostname; echo $HOME"); got != "0\n/\nbare\n/root\n" {
		t.Errorf("a command sees %q", got)
	}
	if out := r.exec("bare", `{"command":["cat"],"stdin":"`+strings.Repeat("x", 300<<10)+`"}`); len(out.Stdout) != 300<<10 {
		t.Errorf("%d bytes came back", len(out.Stdout))
	}
	a := r.do("POST", api+"/bare/exec/stream", `{"command":["sh","-c","echo out; echo err >&2; exit 4"]}`)
	for _, want := range []string{"event: stdout\ndata: out\ndata: \n\n", "event: stderr\ndata: err\ndata: \n\n", "event: exit\ndata: {\"exitCode\":4}\n\n"} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %q in %q", want, a.body)
		}
	}
	a = r.do("POST", api+"/bare/exec/stream", `{"command":["cat","/dev/zero"]}`)
	if !strings.HasSuffix(a.body, "exec terminated (output truncated)\"}\n\n") || r.runs("bare", "cat") {
		t.Errorf("too much output ends with %q", a.body[len(a.body)-100:])
	}
	r.want(500, "agent operation failed: vm exec: failed to spawn command: No such file or directory (os error 2)", "POST", api+"/bare/exec", `{"command":["nope"]}`)
	r.want(500, "agent operation failed: vm exec: failed to spawn command: No such file or directory (os error 2)", "POST", api+"/bare/exec", `{"command":["true"],"workdir":"/nope"}`)
	r.want(500, "agent operation failed: vm exec: failed to spawn command: Permission denied (os error 13)", "POST", api+"/bare/exec", `{"command":["/etc/passwd"]}`)
}

func TestRealContainerLimit(t *testing.T) {
	r := onSandbox(t, local.Options{})
	r.machine("m", "debian")
	a := r.do("POST", api+"/m/exec", `{"command":["sh","-c","head -c 13000000 /dev/zero | tr '\\0' x; exit 5"]}`)
	const head = `{"exitCode":5,"stdout":"`
	if !strings.HasPrefix(a.body, head) || strings.IndexByte(a.body[len(head):], '"') != 11<<20 {
		t.Errorf("answered %d %s…", a.status, a.body[:min(len(a.body), 80)])
	}
}

func TestRealFiles(t *testing.T) {
	r := onSandbox(t, local.Options{})
	r.machine("m", "")
	text := strings.Repeat("0123456789abcdef", 200<<10)
	r.want(200, "", "PUT", api+"/m/files/root/a/b/c", text)
	if got := r.sh("m", "wc -c </root/a/b/c; stat -c '%a %u %g' /root/a/b/c"); strings.TrimSpace(got) != fmt.Sprintf("%d\n644 0 0", len(text)) {
		t.Errorf("in the machine it is %q", got)
	}
	if a := r.want(200, "", "GET", api+"/m/files/root/a/b/c", ""); a.body != text {
		t.Errorf("%d bytes came back", len(a.body))
	}
	r.sh("m", "mkfifo /root/pipe")
	r.want(500, "agent operation failed: read file: not a regular file: /root", "GET", api+"/m/files/root", "")
	r.want(500, "agent operation failed: read file: not a regular file: /root/pipe", "GET", api+"/m/files/root/pipe", "")
	r.want(500, "agent operation failed: read file: failed to open /root/none: No such file or directory (os error 2)", "GET", api+"/m/files/root/none", "")
	r.want(500, "", "PUT", api+"/m/files/root/a", "x")
	r.want(200, "", "POST", api+"/m/stop", "")
	if got := r.sh("m", "wc -c </root/a/b/c"); strings.TrimSpace(got) != fmt.Sprint(len(text)) { // it starts by itself
		t.Errorf("after stop and start it has %q bytes", got)
	}
}

func TestRealNinthCall(t *testing.T) {
	r := onSandbox(t, local.Options{Probe: 200 * time.Millisecond})
	r.machine("m", "")
	var eight []*inFlight
	for range 8 {
		eight = append(eight, r.begin(context.Background(), "POST", api+"/m/exec", `{"command":["sleep","1000"]}`))
	}
	eventually(t, "all connections are taken", func() bool { return r.state("m") == "unreachable" })
	if got := r.sh("m", "echo again"); got != "again\n" {
		t.Errorf("the ninth got %q", got)
	}
	for _, f := range eight {
		if a := f.wait(t); a.status != 500 {
			t.Errorf("a command of before was answered %d %s", a.status, a.body)
		}
	}
	if n := r.s.Reboots("m"); n != 1 || r.runs("m", "1000") {
		t.Errorf("%d reboots", n)
	}
}

func TestRealBranch(t *testing.T) {
	r := onSandbox(t, local.Options{Version: "1.18.2"})
	r.want(200, "", "POST", api, `{"name":"g"}`)
	r.want(200, "", "POST", api+"/g/start?branchable=true", "")
	r.sh("g", "echo before >/workspace/f")
	r.want(200, "", "POST", api+"/g/branches", `{"name":"c","env":["A=b"]}`)
	r.sh("g", "echo after >/workspace/f")
	if got := r.sh("c", "cat /workspace/f /etc/smolvm/fork-env; hostname"); got != "before\nA=b\nc\n" {
		t.Errorf("the clone has %q", got)
	}
	r.want(200, "", "DELETE", api+"/g", "")
	if got := r.sh("c", "cat /workspace/f"); got != "before\n" {
		t.Errorf("without its source the clone has %q", got)
	}
}

func TestRealCheckpoint(t *testing.T) {
	r := onSandbox(t, local.Options{})
	r.machine("m", "busybox")
	r.sh("m", "mkdir /root/d; echo text >/root/d/f; chmod 4751 /root/d/f; ln -s d/f /root/l; chown 7:8 /root/d || true; echo w >/workspace/w")
	want := r.sh("m", "stat -c '%n %a %u %g %F' /root/d /root/d/f; cat /root/l /workspace/w")
	a := r.want(200, "", "POST", api+"/m/checkpoint", "")
	if n := len(a.body); n > 32<<20 {
		t.Errorf("the checkpoint has %d bytes: the one program of the image is in it more than once", n)
	}
	file := filepath.Join(t.TempDir(), "c")
	if err := os.WriteFile(file, []byte(a.body), 0o600); err != nil {
		t.Fatal(err)
	}
	r.want(200, "", "POST", api, fmt.Sprintf(`{"name":"r","from":%q}`, file))
	if got := r.sh("r", "stat -c '%n %a %u %g %F' /root/d /root/d/f; cat /root/l /workspace/w"); got != want {
		t.Errorf("restored\n%swant\n%s", got, want)
	}
}

func TestRealPause(t *testing.T) {
	r := onSandbox(t, local.Options{Version: "1.18.0"})
	r.machine("m", "")
	r.exec("m", `{"command":["sh","-c","while :; do echo x >>/workspace/f; sleep 0.01; done"],"background":true}`)
	lines := func() string { return r.sh("m", "wc -l </workspace/f") }
	eventually(t, "it counts", func() bool { return strings.TrimSpace(r.sh("m", "cat /workspace/f 2>/dev/null | wc -l")) != "0" })
	r.want(200, "", "POST", api+"/m/pause", `{}`)
	r.down()
	r.up()
	if got := r.state("m"); got != "paused" {
		t.Errorf("it is %s", got)
	}
	r.want(200, "", "POST", api+"/m/resume", `{}`)
	first := lines()
	eventually(t, "it counts on", func() bool { return lines() != first })
}

func TestRealTerminal(t *testing.T) {
	r := onSandbox(t, local.Options{})
	r.machine("m", "")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := r.terminal(ctx, api+"/m/exec/interactive?cols=91&rows=17")
	if err := c.Write(ctx, websocket.MessageBinary, []byte("stty size; echo $TERM; exit 6\n")); err != nil {
		t.Fatal(err)
	}
	var out, last string
	for {
		kind, b, err := c.Read(ctx)
		if err != nil {
			break
		}
		if kind == websocket.MessageText {
			last = string(b)
			continue
		}
		out += string(b)
	}
	if last != `{"type":"exit","code":6}` || !strings.Contains(out, "17 91\r\n") || !strings.Contains(out, "xterm-256color\r\n") {
		t.Errorf("ended with %s after %q", last, out)
	}
}

func TestRealLogs(t *testing.T) {
	r := onSandbox(t, local.Options{})
	r.machine("m", "")
	if a := r.want(200, "", "GET", api+"/m/logs?tail=1000", ""); data(a.body) == "" {
		t.Error("the console is empty")
	}
}

// serverEnv makes the test binary a server: its data directory and its socket.
const serverEnv = "SIM_LOCAL_TEST_SERVER"

// runServer serves until it is killed.
func runServer(at string) int {
	dir, socket, _ := strings.Cut(at, ":")
	s, err := local.New(&local.Options{Guest: sandbox.New(nil), DataDir: dir, Supervisor: -1})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		fmt.Println(err)
	}
	return 0
}

// A server that is killed takes the commands in its foreground along; its machines, and the commands in the background, go on under the next.
func TestKilledServer(t *testing.T) {
	simtest.Sandbox(t)
	r := onSandbox(t, local.Options{})
	r.down()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), serverEnv+"="+r.opts.DataDir+":"+r.socket)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the server said %q, %v", line, err)
	}
	r.machine("m", "")
	boot := r.sh("m", "cat /proc/sys/kernel/random/boot_id")
	r.exec("m", `{"command":["sleep","11111"],"background":true}`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dying := []*inFlight{
		r.begin(ctx, "POST", api+"/m/exec", `{"command":["sleep","22222"]}`),
		r.begin(ctx, "POST", api+"/m/exec/stream", `{"command":["sh","-c","sleep 33333; true"]}`),
	}
	eventually(t, "all run", func() bool { return r.runs("m", "22222") && r.runs("m", "33333") })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, f := range dying {
		<-f.done
	}
	if err := os.Remove(r.socket); err != nil {
		t.Fatal(err)
	}
	r.up()
	if got := r.stdout.String(); got != "Reconnected to 1 existing machine(s): m\n" {
		t.Errorf("printed %q", got)
	}
	eventually(t, "the foreground is dead", func() bool { return !r.runs("m", "22222") && !r.runs("m", "33333") })
	if !r.runs("m", "11111") {
		t.Error("the background is dead too")
	}
	if got := r.sh("m", "cat /proc/sys/kernel/random/boot_id"); got != boot {
		t.Error("it is another boot")
	}
}
