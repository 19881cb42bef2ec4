package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/smol-machines/smol-go/internal/simtest"
)

// cloudServer is smolsim cloud as a process.
type cloudServer struct {
	server
	token string
}

// cloud starts a server and waits for its first line, which is where it listens.
func cloud(t *testing.T, dir string, args ...string) *cloudServer {
	t.Helper()
	tokens := filepath.Join(dir, "tokens")
	s := &cloudServer{}
	s.cmd = command(t, nil, append([]string{"cloud", "--listen", "127.0.0.1:0", "--token-file", tokens, "--data-dir", filepath.Join(dir, "data")}, args...)...)
	s.cmd.Stderr = &s.server
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server is not ready: %v: %s", s.cmd.Wait(), s.stderr())
	}
	s.base = strings.TrimSuffix(line, "\n")
	if !strings.HasPrefix(s.base, "http://127.0.0.1:") {
		t.Fatalf("the first line is %q", line)
	}
	b, err := os.ReadFile(tokens)
	if err != nil {
		t.Fatal(err)
	}
	s.token, _, _ = strings.Cut(strings.TrimSpace(string(b)), " ")
	return s
}

func (s *cloudServer) call(t *testing.T, token, method, path, body string) (int, string) {
	t.Helper()
	status, reply, err := s.try(t.Context(), token, method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v; the server says %s", method, path, err, s.stderr())
	}
	return status, reply
}

func (s *cloudServer) try(ctx context.Context, token, method, path, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// end asks the server to end and returns its exit code.
func (s *cloudServer) end(t *testing.T) int {
	t.Helper()
	if runtime.GOOS == "windows" { // a process can be killed only
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.cmd.Wait()
		return 0
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// A machine of the cloud outlives its server, and the next one has it with its files. The key is made, kept from others, and never told.
func TestCloud(t *testing.T) {
	simtest.Sandbox(t)
	dir := t.TempDir()
	s := cloud(t, dir, "--verbose")
	fi, err := os.Stat(filepath.Join(dir, "tokens"))
	if err != nil || fi.Mode().Perm() != 0o600 || len(s.token) < 40 {
		t.Errorf("the file of keys: %v %v, a key of %d characters", fi, err, len(s.token))
	}
	status, reply := s.call(t, s.token, "POST", "/v1/machines", `{"source":{"type":"image","reference":"alpine"},"name":"m"}`)
	var m struct{ ID string }
	if err := json.Unmarshal([]byte(reply), &m); err != nil || status != 201 {
		t.Fatalf("%d %s", status, reply)
	}
	one := "/v1/machines/" + m.ID
	if status, reply = s.call(t, s.token, "POST", one+"/exec", `{"command":"echo kept >/root/f; id -u"}`); status != 200 || !strings.Contains(reply, `"exitCode":0`) {
		t.Errorf("%d %s", status, reply)
	}
	if status, _ := s.call(t, "wrong", "GET", one, ""); status != 401 {
		t.Errorf("a wrong key: %d", status)
	}
	if code := s.end(t); code != 0 {
		t.Errorf("exit %d: %s", code, s.stderr())
	}
	if strings.Contains(s.stderr(), s.token) {
		t.Error("the key is in the log")
	}
	next := cloud(t, dir)
	if status, reply = next.call(t, next.token, "POST", one+"/exec", `{"command":["cat","/root/f"]}`); status != 200 || !strings.Contains(reply, `"stdout":"kept\n"`) {
		t.Errorf("%d %s", status, reply)
	}
	if status, reply = next.call(t, next.token, "GET", one+"/events", ""); strings.Count(reply, "machine started") != 1 {
		t.Errorf("the machine was not adopted: %d %s", status, reply)
	}
	if status, reply = next.call(t, next.token, "DELETE", one, ""); status != 204 {
		t.Errorf("%d %s", status, reply)
	}
	if code := next.end(t); code != 0 {
		t.Errorf("exit %d: %s", code, next.stderr())
	}
}

func TestCloudFlags(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tokens"), []byte("# keys\nfirst\n\nsecond other machine:read,machine:create\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := cloud(t, dir, "--errors", "code-error", "--old", "--network", "blocked", "--max-machines", "1", "--rate", "6", "--files-status", "405",
		"--fault", `{"path":"/v1/usage","action":"fail","status":429,"header":{"retry-after":"7"}}`)
	const create = `{"source":{"type":"image","reference":"alpine"}}`
	for _, tt := range []struct {
		token, method, path, body string
		status                    int
		want                      string
	}{
		{"second", "POST", "/v1/machines", create, 201, `"network":{"mode":"blocked"}`},
		{"second", "POST", "/v1/machines", create, 422, `{"code":"unprocessable_entity","error":"machine count quota exceeded:`},
		{"second", "GET", "/v1/machines", "", 200, `{"machines":[`},
		{"second", "DELETE", "/v1/machines/mach-0", "", 403, `missing scope: machine:delete`},
		{"first", "GET", "/v1/machines", "", 200, `{"machines":[]}`},
		{"first", "GET", "/v1/machines/mach-0/files/etc/hosts", "", 405, ""},
		{"first", "GET", "/v1/usage", "", 429, ""},
		{"second", "GET", "/v1/me", "", 200, `"tenantId":"other"`},
		{"second", "GET", "/v1/me", "", 200, `"scopes":["machine:read","machine:create"]`},
		{"second", "GET", "/v1/me", "", 429, `rate limit`},
	} {
		status, reply := s.call(t, tt.token, tt.method, tt.path, tt.body)
		if status != tt.status || !strings.Contains(reply, tt.want) || tt.want == "" && reply != "" {
			t.Errorf("%s %s: %d %s, want %d with %s", tt.method, tt.path, status, reply, tt.status, tt.want)
		}
	}
	if code := s.end(t); code != 0 {
		t.Errorf("exit %d: %s", code, s.stderr())
	}
}

func TestCloudMistakes(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	good := file("good", "k", 0o600)
	rows := []struct {
		args   []string
		code   int
		stderr string
	}{
		{nil, 2, "a flag is missing: --token-file FILE"},
		{[]string{"--token-file", good, "extra"}, 2, "unexpected argument 'extra' found"},
		{[]string{"--token-file", good, "--listen", ":8080"}, 2, "invalid value ':8080' for '--listen"},
		{[]string{"--token-file", good, "--listen", "0.0.0.0:0"}, 2, "invalid value '0.0.0.0:0' for '--listen"},
		{[]string{"--token-file", good, "--errors", "html"}, 2, "invalid value 'html' for '--errors"},
		{[]string{"--token-file", good, "--network", "none"}, 2, "invalid value 'none' for '--network"},
		{[]string{"--token-file", good, "--files-status", "200"}, 2, "invalid value '200' for '--files-status"},
		{[]string{"--token-file", good, "--fault", "{"}, 2, "invalid value '{' for '--fault"},
		{[]string{"--token-file", good, "--shutdown-grace", "-1"}, 2, "invalid value '-1' for '--shutdown-grace"},
		{[]string{"--token-file", filepath.Join(dir, "no", "such")}, 1, "Error: open " + filepath.Join(dir, "no", "such")},
		{[]string{"--token-file", file("empty", "# nothing\n\n", 0o600)}, 1, "there is no key in"},
		{[]string{"--token-file", file("long", "secretkey a b c\n", 0o600)}, 1, "long:1: a line is TOKEN"},
	}
	if runtime.GOOS != "windows" {
		rows = append(rows, struct {
			args   []string
			code   int
			stderr string
		}{[]string{"--token-file", file("wide", "secretkey\n", 0o640)}, 1, "chmod 600"})
	}
	for _, r := range rows {
		stdout, stderr, code := smolsim(t, nil, append([]string{"cloud"}, r.args...)...)
		if code != r.code || stdout != "" || !strings.Contains(stderr, r.stderr) || strings.Contains(stderr, "secretkey") {
			t.Errorf("%q: exit %d, %q, %q; want exit %d with %q", r.args, code, stdout, stderr, r.code, r.stderr)
		}
	}
}

// The command has both services beside it, and nothing is left of either.
func TestRunCloud(t *testing.T) {
	simtest.Sandbox(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, env := tmp(t)
	stdout, stderr, code := smolsim(t, append(env, clientOfCloud+"=1"), "run", "--cloud", "--", self)
	if code != 7 || !strings.Contains(stdout, `"exitCode":0`) {
		t.Errorf("exit %d: %s %s", code, stdout, stderr)
	}
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("left in the temporary directory: %v", names)
	}
}

// clientOfCloud makes this binary a client that leaves a machine running in the cloud and exits with 7.
const clientOfCloud = "SMOLSIM_TEST_AS_CLIENT_OF_CLOUD"

func cloudClient() int {
	s := &cloudServer{server: server{cmd: &exec.Cmd{}, base: os.Getenv("SMOL_CLOUD_URL")}, token: os.Getenv("SMOL_CLOUD_TOKEN")}
	ctx := context.Background()
	_, reply, err := s.try(ctx, s.token, "POST", "/v1/machines", `{"source":{"type":"image","reference":"alpine"}}`)
	var m struct{ ID string }
	if err == nil {
		err = json.Unmarshal([]byte(reply), &m)
	}
	if err == nil {
		_, reply, err = s.try(ctx, s.token, "POST", "/v1/machines/"+m.ID+"/exec", `{"command":["true"]}`)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(reply)
	return 7
}
