package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Where a golang machine has its Go: the first if the host has a directory there to mount on, as /usr is read-only.
const (
	goTarget         = "/usr/local/go"
	goTargetFallback = "/opt/go"
)

// goTree shows the host's Go and returns a PATH with it.
func (g *Guest) goTree(c *config) (string, error) {
	root, err := g.goroot()
	if err != nil {
		return "", err
	}
	target := goTarget
	there, err := filepath.EvalSymlinks(goTarget)
	switch {
	case err == nil && there == root && within(root, "/usr"):
		return goPath(target), nil // it comes with /usr
	case err == nil && within(there, "/usr"):
		target = there
	default:
		target = goTargetFallback
	}
	c.Binds = append(c.Binds, bind{Source: root, Target: target, Private: true})
	return goPath(target), nil
}

func goPath(root string) string { return root + "/bin:" + defaultPath }

func (g *Guest) findGOROOT() (string, error) {
	root := g.opts.GOROOT
	if root == "" {
		cmd := exec.Command("go", "env", "GOROOT")
		cmd.Dir = "/" // not the toolchain that some module asks for
		cmd.Env = append(cmd.Environ(), "GOTOOLCHAIN=local")
		out, err := cmd.Output()
		if err != nil {
			return "", &Error{Step: "find GOROOT", Err: err, Remedy: "install Go and put it into the PATH"}
		}
		root = strings.TrimSpace(string(out))
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "go")); err != nil {
		return "", &Error{Step: "find GOROOT", Err: err, Remedy: "install Go and put it into the PATH"}
	}
	return filepath.EvalSymlinks(root)
}
