package simtest

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
)

// ordinary is the user nobody, with whom no system grants anything.
const ordinary = 65534

// noMachine is the reason of a skip in the output of tests.
var noMachine = regexp.MustCompile(`(?m)^.*no machine can be made: .*$`)

// AsUser runs again, as an ordinary user, the tests of this test binary that match the pattern run, but not those that match skip. It does
// nothing when the tests run as an ordinary user already. Where that user can make no machines and root can, it does what [Unable] does.
func AsUser(tb testing.TB, run, skip string) {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Log("this is an ordinary user already")
		return
	}
	Sandbox(tb)
	dir, err := os.MkdirTemp("/tmp", "smol-user-")
	if err != nil {
		tb.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chown(dir, ordinary, ordinary); err != nil {
		tb.Fatal(err)
	}
	// The magic link needs no way to the binary, which lies in a directory of root's.
	c := exec.CommandContext(tb.Context(), "/proc/self/exe", "-test.run="+run, "-test.skip="+skip, "-test.timeout=5m", "-test.v")
	c.Dir = dir
	c.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, Require+"=0")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	out, err := c.CombinedOutput()
	if why := noMachine.Find(out); why != nil {
		Unable(tb, "as an ordinary user: "+string(bytes.TrimSpace(why)))
	}
	if err != nil || !bytes.Contains(out, []byte("\nPASS\n")) || !bytes.Contains(out, []byte("--- PASS")) {
		tb.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}
