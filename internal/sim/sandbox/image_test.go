//go:build linux

package sandbox_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

func TestImageNames(t *testing.T) {
	for image, want := range map[string]string{
		"":                                     "host",
		"debian:12":                            "host",
		"python:3.12-alpine":                   "host",
		"busybox":                              "busybox",
		"busybox:1.36":                         "busybox",
		"docker.io/library/alpine:3.20":        "busybox",
		"localhost:5000/alpine":                "busybox",
		"localhost:5000/alpine@sha256:0123":    "busybox",
		"my-alpine":                            "host",
		"golang:1.26":                          "go",
		"ghcr.io/x/golang":                     "go",
		"dash":                                 "shell dash",
		"bash:5":                               "shell bash",
		"gcr.io/distroless/static":             "no shell",
		"noshell":                              "no shell",
		"scratch":                              "no shell",
		"missing":                              "image \"missing\": image not found",
		"ghcr.io/missing/a:1":                  "image \"ghcr.io/missing/a:1\": image not found",
		"not-missing-at-all":                   "image \"not-missing-at-all\": image not found",
		"alpine:missing":                       "busybox", // only the tag
		"../missing":                           "image \"../missing\": image not found",
		strings.Repeat("a/", 1000) + "busybox": "busybox",
	} {
		got, err := sandbox.KindOf(image)
		if err != nil {
			got = err.Error()
			if !errors.Is(err, sim.ErrNoImage) {
				t.Errorf("%q: %v", image, err)
			}
		}
		if got != want {
			t.Errorf("%q is %q, want %q", image, got, want)
		}
	}
}

func TestBusyboxImage(t *testing.T) {
	m := boot(t, sim.Boot{Image: "alpine:3.20"})
	if got := m.shell("cmp /bin/busybox /bin/sh && echo /bin/busybox; /usr/bin/env true && /sbin/ip addr show lo | head -n 1; ls -d /lib64 /usr/share 2>/dev/null; echo $PATH"); !strings.HasPrefix(got, "/bin/busybox\n1: lo") || strings.Contains(got, "/usr/share\n") {
		t.Errorf("in a busybox machine: %q", got)
	}
	m.shell("rm /bin/vi && echo mine >/bin/own") // it can be changed, and stays so
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	again := boot(t, sim.Boot{Image: "alpine:3.20", Dir: m.dir})
	if got := again.shell("ls /bin/vi 2>&1; cat /bin/own; echo hello | tr a-z A-Z"); !strings.HasSuffix(got, "mine\nHELLO") || !strings.Contains(got, "No such file") {
		t.Errorf("after a second boot: %q", got)
	}
}

func TestShellImages(t *testing.T) {
	for image, script := range map[string]string{
		"bash": `case $BASH_VERSION in "") exit 1;; esac; test "$(echo /bin/sh)" = /bin/sh`,
		"dash": `case $BASH_VERSION in "") ;; *) exit 1;; esac; test ! -e /bin/busybox -o -z "$(readlink /proc/$$/exe | grep -e busybox -e bash)"`,
	} {
		if _, err := exec.LookPath(image); err != nil {
			t.Errorf("%v: apt-get install %s", err, image)
			continue
		}
		if r := boot(t, sim.Boot{Image: image}).run(&sim.Command{Argv: []string{"/bin/sh", "-c", script}}); r.Code != 0 {
			t.Errorf("%s: %+v", image, r)
		}
	}
}

func TestNoShellImage(t *testing.T) {
	m := boot(t, sim.Boot{Image: "gcr.io/distroless/static"})
	for _, name := range []string{"sh", "/bin/sh", "busybox", "ls", "mkdir"} {
		if _, err := m.Start(t.Context(), &sim.Command{Argv: []string{name}}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, row := range []struct {
		cmd  sim.Command
		want result
	}{
		{sim.Command{Argv: []string{"echo", "hello"}}, result{Stdout: "hello\n"}},
		{sim.Command{Argv: []string{"/bin/cat"}, Stdin: strings.NewReader("in")}, result{Stdout: "in"}},
		{sim.Command{Argv: []string{"sleep", "0"}}, result{}},
		{sim.Command{Argv: []string{"true"}}, result{}},
		{sim.Command{Argv: []string{"false"}}, result{Code: 1}},
	} {
		if got := m.run(&row.cmd); got != row.want {
			t.Errorf("%q: %+v", row.cmd.Argv, got)
		}
	}
}

func TestGoImage(t *testing.T) {
	m := boot(t, sim.Boot{Image: "golang:1.26"})
	if got := m.shell("go version && test -d $(go env GOROOT)/src/fmt && command -v gofmt"); !strings.HasPrefix(got, "go version go1.") {
		t.Errorf("%q", got)
	}
	env := m.Instance.(sim.Configured).Config().Env
	if path := fmt.Sprint(env); !strings.Contains(path, "/go/bin:/usr/local/sbin:") {
		t.Errorf("environment %q", env)
	}
}

// A Go tree that is not below /usr, under a directory that is closed to everybody else.
func TestGoImageWithAnotherGOROOT(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "closed")
	root := filepath.Join(dir, "go")
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin", "go"), []byte("#!/bin/sh\necho go from $0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	sandboxGuest(t)
	g := sandbox.New(&sandbox.Options{GOROOT: root})
	i, err := g.Boot(t.Context(), &sim.Boot{Dir: t.TempDir(), Image: "golang"})
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{Instance: i, t: t}
	defer m.Kill()
	if got := m.shell("go version"); !strings.HasPrefix(got, "go from /") || !strings.HasSuffix(got, "/go/bin/go") {
		t.Errorf("%q", got)
	}
	if r := m.run(&sim.Command{Argv: []string{"sh", "-c", "echo x >$(dirname $(command -v go))/x"}}); r.Code == 0 {
		t.Error("the Go tree can be written")
	}
	if _, err := sandbox.New(&sandbox.Options{GOROOT: t.TempDir()}).Boot(t.Context(), &sim.Boot{Dir: t.TempDir(), Image: "golang"}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "find GOROOT") {
		t.Errorf("without a Go in it: %v", err)
	}
}

func TestBusyboxMustBeStatic(t *testing.T) {
	sandboxGuest(t)
	for name, want := range map[string]string{
		"/bin/sh":       "is not statically linked",
		"/nonexistent":  "no such file",
		"/etc/passwd":   "bad magic number",
		"/proc/self/fd": "is a directory",
	} {
		g := sandbox.New(&sandbox.Options{Busybox: name})
		_, err := g.Boot(t.Context(), &sim.Boot{Dir: t.TempDir(), Image: "busybox"})
		var e *sandbox.Error
		if !errors.As(err, &e) || e.Step != "find busybox" || e.Remedy != "apt-get install busybox-static" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
