package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// versionTime is how long `smolvm --version` may take.
const versionTime = 10 * time.Second

// program returns the path of the program, or why it cannot be started here.
func (s *Supervisor) program(ctx context.Context) (string, error) {
	path, err := exec.LookPath(s.c.Program)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", missing(s.c.Program, err)
	}
	version, noHypervisor := s.release(ctx, path)
	if gone := ended(ctx); gone != nil {
		return "", gone
	}
	if version != "" {
		if err := s.gate(version, path); err != nil {
			return "", err
		}
	}
	if s.c.KVM != "" && !noHypervisor {
		if _, err := os.Stat(s.c.KVM); err != nil {
			return "", unavailable(err, "this host has no "+s.c.KVM+", and "+path+" needs a hypervisor",
				"enable virtualization in the firmware, load the kvm module, or enable nested virtualization; or use a service elsewhere: "+where)
		}
	}
	return path, nil
}

// missing says why there is no program to start.
func missing(program string, err error) error {
	what := "is not on the PATH"
	if filepath.Base(program) != program {
		what = "does not exist"
	}
	if errors.Is(err, os.ErrPermission) {
		what = "cannot be executed"
	}
	return unavailable(err, program+" "+what, "install smolvm, or set SMOLVM to its path; or "+where)
}

// release asks the program which release it is; one that does not say so is left to the start.
func (s *Supervisor) release(ctx context.Context, path string) (version string, noHypervisor bool) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = minimal(s.c.Env, runtime.GOOS)
	cmd.Stdout = &clipped{w: &out, left: 4 << 10}
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		s.c.Log.Debug("no release told", "program", path, "error", fmt.Sprint(err))
		return "", false
	}
	return parseBinaryVersion(out.String())
}

// clipped passes on the beginning of what is written to it.
type clipped struct {
	w    *bytes.Buffer
	left int
}

// Write never fails, so that the program does not notice.
func (c *clipped) Write(b []byte) (int, error) {
	n := min(c.left, len(b))
	c.w.Write(b[:n])
	c.left -= n
	return len(b), nil
}
