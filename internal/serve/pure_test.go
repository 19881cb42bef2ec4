package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/serve"
)

// TestMinimal chooses the environment by the rules of both kinds of system.
func TestMinimal(t *testing.T) {
	env := []string{
		"PATH=/bin", "HOME=/h", "XDG_RUNTIME_DIR=/r", "SMOLVM_LIB_DIR=/l", "SMOL_CLOUD_TOKEN=x", "SMOLVM_API_TOKEN=x", "smolvm_secret=x", "XDG_PASSWORD=x",
		"Path=C:\\", "SystemRoot=C:\\Windows", "=C:=C:\\", "nonsense", "SMOLVM=/bin/x", "LC_ALL=C", "LD_PRELOAD=x", "AWS_PROFILE=x", "SMOLVM_X=\x00",
	}
	before := strings.Join(env, "\n")
	want := []string{"PATH=/bin", "HOME=/h", "XDG_RUNTIME_DIR=/r", "SMOLVM_LIB_DIR=/l", "LC_ALL=C"}
	if diff := cmp.Diff(want, serve.Minimal(env, "linux")); diff != "" {
		t.Errorf("linux (-want +got):\n%s", diff)
	}
	want = []string{"PATH=/bin", "HOME=/h", "XDG_RUNTIME_DIR=/r", "SMOLVM_LIB_DIR=/l", "Path=C:\\", "SystemRoot=C:\\Windows", "LC_ALL=C"}
	if diff := cmp.Diff(want, serve.Minimal(env, "windows")); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	if strings.Join(env, "\n") != before {
		t.Error("the caller's environment was changed")
	}
}

func TestVersions(t *testing.T) {
	for s, want := range map[string]serve.Version{
		"1.14.5": {1, 14, 5}, "1.14": {1, 14, 0}, "2": {2, 0, 0}, " 1.15.0-rc.1+b\n": {1, 15, 0}, "1.2.3+x-y": {1, 2, 3},
	} {
		if got, ok := serve.ParseVersion(s); got != want || !ok {
			t.Errorf("%q: %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "v1.2.3", "1.2.3.4", "1..2", "-1", "1.99999999999", "dev"} {
		if got, ok := serve.ParseVersion(s); ok {
			t.Errorf("%q is %v", s, got)
		}
	}
	for _, v := range [][2]serve.Version{{{1, 13, 9}, {1, 14, 0}}, {{0, 99, 0}, {1, 0, 0}}, {{1, 14, 0}, {1, 14, 1}}} {
		if !v[0].Before(v[1]) || v[1].Before(v[0]) || v[0].Before(v[0]) {
			t.Errorf("%v", v)
		}
	}
	for out, want := range map[string]struct {
		version string
		none    bool
	}{
		"smolvm 1.14.5\nhypervisor: none\n": {"1.14.5", true}, "smolvm 1.14.5\r\n": {"1.14.5", false}, "": {}, "bash 5.2": {},
		"smolvm 1.14.5\n\nhypervisor: none": {"1.14.5", false},
	} {
		if v, none := serve.BinaryVersion(out); v != want.version || none != want.none {
			t.Errorf("%q: %q, %v", out, v, none)
		}
	}
}

// TestTrimLog cuts a log that has become long, and keeps what it had.
func TestTrimLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "serve.log")
	if err := serve.TrimLog(path, 10); !os.IsNotExist(err) {
		t.Errorf("no log: %v", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, text := range []string{"short", " and some more", "tail\x1b[1m\xff"} {
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := serve.TrimLog(path, 10); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(path + ".1")
	if string(before) != "short and some more" || err != nil {
		t.Errorf("kept %q, %v", before, err)
	}
	if got, want := serve.Tail(path), "tail\uFFFD[1m\uFFFD"; got != want {
		t.Errorf("the end is %q, want %q", got, want)
	}
	if got := serve.Tail(path + ".9"); got != "" {
		t.Errorf("the end of no log is %q", got)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("é", 5000)+"x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := serve.Tail(path); len(got) > 2048 || len(got) < 2000 || strings.Trim(got, "é") != "x" {
		t.Errorf("the end of a long log has %d bytes: %.20q", len(got), got)
	}
	if serve.ListenArg("http://127.0.0.1:80") != "127.0.0.1:80" || serve.ListenArg("unix:///a") != "unix:///a" {
		t.Error("smolvm takes an address of loopback without a scheme")
	}
}

func FuzzRecord(f *testing.F) {
	for _, s := range []string{
		`{"pid":7,"start":"a+1","owner":{"pid":6},"url":"unix:///run/api.sock","state":"running"}`, `{"pid":7,"owner":{"pid":6},"url":"http://127.0.0.1:80","state":"starting"}`,
		`{"pid":1,"state":"running","url":"unix:///a"}`, `{"pid":-7}`, `4711`, ``, `{"pid":7,"state":"x"}`, `{"pid":7,"state":"running","url":"http://192.168.0.1:80"}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		pid, owner, url, err := serve.ParseRecord(b)
		if err == nil && (pid <= 1 || owner < 0 || !strings.HasPrefix(url, "unix:///") && !strings.HasPrefix(url, "http://127.0.0.1:")) {
			t.Errorf("%q: %d, %d, %q", b, pid, owner, url)
		}
	})
}
