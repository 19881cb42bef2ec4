//go:build linux

package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

// Every step of making a machine, as the console of one names them, is made to fail in turn.
func TestEachStepFails(t *testing.T) {
	mount := t.TempDir()
	spec := sim.Boot{Image: "busybox", Mounts: []sim.Mount{{Source: mount, Target: "/mnt/a"}}}
	lists := map[string][]string{"busybox": stepsOf(boot(t, spec))}
	for _, step := range stepsOf(boot(t, sim.Boot{})) {
		if !slices.Contains(lists["busybox"], step) {
			lists[""] = append(lists[""], step)
		}
	}
	for _, must := range []string{
		"lock", "socket", "create process", "configuration", "mount /proc", "mount /dev/pts", "bind /dev/null",
		"bind /proc/sys/kernel/random/boot_id", "bind /mnt/a", "copy /bin/busybox", "write /etc", "loopback up", "pivot root",
		"detach host", "open agent", "close descriptors", "agent",
	} {
		if !slices.Contains(lists["busybox"], must) {
			t.Errorf("there is no step %q in %q", must, lists)
		}
	}
	if !slices.Contains(lists[""], "bind /usr") {
		t.Errorf("there is no step that shows /usr in %q", lists)
	}
	dir := filepath.Join(t.TempDir(), "m")
	for image, steps := range lists {
		spec.Dir, spec.Image = dir+image, image
		for _, step := range sample(steps) {
			failAt(t, spec, step)
		}
		boot(t, spec) // what is left does not keep the next boot from working
	}
}

// sample leaves out, but in long runs, steps that do for one more path what the first and the last of their kind do.
func sample(steps []string) (some []string) {
	if rounds.N(1) > 1 {
		return steps
	}
	kind := func(step string) string {
		verb, path, _ := strings.Cut(step, " ")
		if !strings.HasPrefix(path, "/") {
			return step
		}
		return verb
	}
	first, last := map[string]int{}, map[string]int{}
	for i, step := range steps {
		if _, ok := first[kind(step)]; !ok {
			first[kind(step)] = i
		}
		last[kind(step)] = i
	}
	for i, step := range steps {
		if i == first[kind(step)] || i == last[kind(step)] {
			some = append(some, step)
		}
	}
	return some
}

func failAt(t *testing.T, spec sim.Boot, step string) {
	t.Helper()
	m, err := sandbox.FailAt(step).Boot(t.Context(), &spec)
	if err == nil {
		t.Errorf("%q: failed and yet booted", step)
		m.Kill()
		return
	}
	if e := (*sandbox.Error)(nil); !errors.As(err, &e) || e.Step != step || !strings.Contains(err.Error(), step+": injected failure") {
		t.Errorf("failure of %q: %v", step, err)
	}
	assertNoMachine(t, spec.Dir)
}

func stepsOf(m *machine) (steps []string) {
	for _, line := range regexp.MustCompile(`(?m)^\[.{12}\] (.*)$`).FindAllStringSubmatch(m.Console(), -1) {
		steps = append(steps, line[1])
	}
	return append(steps, "agent") // that of the host comes after the console
}

// assertNoMachine fails if a process of the machine booted last in dir is left, which its boot identity marks, or a child of
// this process that nobody waited for.
func assertNoMachine(t *testing.T, dir string) {
	t.Helper()
	mark, err := os.ReadFile(filepath.Join(dir, "boot_id"))
	if err != nil {
		mark = []byte("no machine has got that far")
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, stat := range stats {
		cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(stat), "cmdline"))
		if bytes.Contains(cmdline, bytes.TrimSpace(mark)) {
			t.Errorf("a process is left: %s %q", stat, cmdline)
		}
		if state, ppid := stateOf(stat); state == "Z" && ppid == os.Getpid() {
			t.Errorf("a zombie is left: %s", stat)
		}
	}
}

func stateOf(stat string) (state string, ppid int) {
	line, _ := os.ReadFile(stat)
	_, rest, _ := strings.Cut(string(line), ") ")
	fmt.Sscan(rest, &state, &ppid)
	return state, ppid
}
