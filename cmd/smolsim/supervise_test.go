//go:build !windows

package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/smol-machines/smol-go/internal/simtest"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

// supervised returns options that start smolsim by the way on which smolvm is started: a launcher script, in an environment that has lost all but
// what smolvm may know.
func supervised(t *testing.T) *local.ServeOptions {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	launcher := filepath.Join(dir, "smolvm")
	script := fmt.Sprintf("#!/bin/sh\n%s=1 GORACE=atexit_sleep_ms=0 GOCOVERDIR='%s' exec '%s' \"$@\"\n", asProgram, os.Getenv("GOCOVERDIR"), self)
	// What another test forks meanwhile would hold the file open for writing, and nobody can execute such a file.
	syscall.ForkLock.RLock()
	err = os.WriteFile(launcher, []byte(script), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return &local.ServeOptions{
		Program: launcher, Dir: filepath.Join(dir, "run"), MinVersion: "1.14.0",
		Env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(), "SMOLVM_DATA_DIR=" + filepath.Join(dir, "data"),
			fmt.Sprint("SMOLVM_GUEST_ROLLOUT_HOST_PORT=", 12000+rand.IntN(20000)), "SMOL_CLOUD_TOKEN=canary",
		},
	}
}

// TestSupervised takes the way of the product: nothing runs, the first call starts a serve, two services share it, machines are deleted through
// it, and the last service to be closed ends it.
func TestSupervised(t *testing.T) {
	simtest.Sandbox(t)
	o := supervised(t)
	sup, err := local.Supervise(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := sup.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	svc, other := sup.Service(), sup.Service()
	if svc.URL() != "" {
		t.Errorf("before the first call: %s", svc.URL())
	}
	m, err := svc.Create(t.Context(), smol.Spec{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Command("sh", "-c", "echo it runs").Output(t.Context())
	if string(out) != "it runs\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	socket, _ := strings.CutPrefix(svc.URL(), "unix://")
	if socket != filepath.Join(o.Dir, "api.sock") {
		t.Errorf("it listens at %s", svc.URL())
	}
	h, err := other.Health(t.Context())
	if err != nil || h.Machines != 1 {
		t.Errorf("the other service: %+v, %v", h, err)
	}
	if err := svc.Close(); err != nil {
		t.Error(err)
	}
	if _, err := other.Health(t.Context()); err != nil {
		t.Errorf("the serve is gone while a service uses it: %v", err)
	}
	if err := other.Machine(m.Name()).Delete(t.Context(), nil); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	for _, left := range []string{socket, filepath.Join(o.Dir, "serve.pid")} {
		if _, err := os.Lstat(left); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", left, err)
		}
	}
}
