package local_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

func TestEndpoints(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ raw, goos, want string }{
		{"unix:///tmp/smolvm.sock", "linux", "unix:///tmp/smolvm.sock"},
		{"/tmp/smolvm.sock", "linux", "unix:///tmp/smolvm.sock"},
		{"/tmp//x/../smolvm.sock", "darwin", "unix:///tmp/smolvm.sock"},
		{"unix:///a b/ü.sock", "linux", "unix:///a b/ü.sock"},
		{"./s.sock", "linux", "unix://" + filepath.Join(wd, "s.sock")},
		{"http://127.0.0.1:8080", "windows", "http://127.0.0.1:8080"},
		{"http://127.0.0.1:8080/", "linux", "http://127.0.0.1:8080"},
		{"127.0.0.1:8080", "linux", "http://127.0.0.1:8080"},
		{"127.9.9.9:1", "linux", "http://127.9.9.9:1"},
		{"localhost:8080", "linux", "http://127.0.0.1:8080"},
		{"http://LocalHost:8080", "linux", "http://127.0.0.1:8080"},
		{"http://[::1]:8080", "linux", "http://[::1]:8080"},
		{"[::ffff:127.0.0.1]:8080", "linux", "http://127.0.0.1:8080"},
	} {
		if len(wd) > 90 && strings.HasPrefix(tt.raw, ".") {
			continue // the working directory leaves no room
		}
		if runtime.GOOS == "windows" && strings.HasPrefix(tt.want, "unix:") {
			continue // the paths are those of another system
		}
		got, err := local.ParseEndpoint(tt.raw, tt.goos)
		if err != nil || got != tt.want {
			t.Errorf("%q on %s: %q, %v; want %q", tt.raw, tt.goos, got, err, tt.want)
		}
	}
}

func TestBadEndpoints(t *testing.T) {
	for _, tt := range []struct{ raw, goos, says string }{
		{"unix://", "linux", "no socket"},
		{"unix:///tmp/", "linux", "no socket"},
		{"unix:///tmp/s.sock", "windows", "http://127.0.0.1:port"},
		{"/" + strings.Repeat("x", 107), "linux", "the system allows 107"},
		{"/" + strings.Repeat("x", 103), "darwin", "the system allows 103"},
		{"/tmp/a\x00b", "linux", "control character"},
		{"https://127.0.0.1:8080", "linux", "TLS"},
		{"ftp://127.0.0.1:8080", "linux", "neither"},
		{"http://127.0.0.1", "linux", "port"},
		{"http://127.0.0.1:0", "linux", "port"},
		{"http://127.0.0.1:65536", "linux", "port"},
		{"http://127.0.0.1:http", "linux", "port"},
		{"http://127.0.0.1:8080/api", "linux", "port"},
		{"http://user@127.0.0.1:8080", "linux", "no authentication"},
		{"8080", "linux", "neither"},
		{":8080", "linux", "no authentication"},
		{"0.0.0.0:8080", "linux", "no authentication"},
		{"192.168.1.2:8080", "linux", "no authentication"},
		{"[fe80::1%lo]:8080", "linux", "no authentication"},
		{"http://example.com:8080", "linux", "no authentication"},
		{"localhost.example.com:8080", "linux", "no authentication"},
		{"127.0.0.1.example.com:8080", "linux", "no authentication"},
	} {
		got, err := local.ParseEndpoint(tt.raw, tt.goos)
		if err == nil {
			t.Errorf("%q on %s gave %q", tt.raw, tt.goos, got)
			continue
		}
		e := asError(t, err)
		if e.Code != smol.CodeInvalid || !strings.Contains(e.Message, tt.says) || !strings.Contains(e.Message, "Options.URL") {
			t.Errorf("%q on %s: %v", tt.raw, tt.goos, err)
		}
	}
}

func TestURLFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "smolvm.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, goos string
		env        map[string]string
		want       string
	}{
		{"nothing", "linux", nil, "unix:///tmp/smolvm.sock"},
		{"nothing on Windows", "windows", nil, "http://127.0.0.1:8080"},
		{"runtime directory", "linux", map[string]string{"XDG_RUNTIME_DIR": dir}, "unix://" + filepath.Join(dir, "smolvm.sock")},
		{"runtime directory without a socket", "linux", map[string]string{"XDG_RUNTIME_DIR": filepath.Join(dir, "none")}, "unix:///tmp/smolvm.sock"},
		{"runtime directory elsewhere", "darwin", map[string]string{"XDG_RUNTIME_DIR": dir}, "unix:///tmp/smolvm.sock"},
		{"ours wins", "linux", map[string]string{"XDG_RUNTIME_DIR": dir, "SMOL_LOCAL_URL": "localhost:1"}, "localhost:1"},
	} {
		if got := local.EnvURLFor(tt.goos, func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	t.Setenv("SMOL_LOCAL_URL", "127.0.0.1:7")
	if o := local.OptionsFromEnv(); o.URL != "127.0.0.1:7" {
		t.Errorf("options %+v", o)
	}
}

func TestNewDoesNoIO(t *testing.T) {
	t.Setenv("SMOL_LOCAL_URL", "http://example.com:1") // which New does not read
	for _, o := range []*local.Options{nil, {}, {URL: "127.0.0.1:1"}} {
		svc, err := local.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if svc.URL() != svc.Backend().Traits().Endpoint || svc.URL() == "" {
			t.Errorf("URL %q", svc.URL())
		}
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, o := range []*local.Options{{URL: "example.com:1"}, {DialTimeout: -1}} {
		if _, err := local.New(o); asError(t, err).Code != smol.CodeInvalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
