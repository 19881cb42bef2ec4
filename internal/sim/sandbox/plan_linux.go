package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim"
)

// hostEtc are the parts of the host's /etc that its programs need to find each other.
var hostEtc = []string{"alternatives", "crypto-policies", "ld.so.cache", "localtime", "pki", "ssl"}

// plan says how to set up the machine.
func (g *Guest) plan(b *sim.Boot, bootID string) (*config, error) {
	c := &config{BootID: bootID, Hostname: hostname(b.Name), FailAt: g.failAt}
	k, shell, err := chooseKind(b.Image)
	if err != nil {
		return nil, err
	}
	searched := defaultPath
	switch k {
	case kindBusybox, kindNoShell:
		if err := g.busybox(c, k); err != nil {
			return nil, err
		}
	default:
		hostUserland(c)
		if k == kindShell {
			err = useShell(c, shell)
		} else if k == kindGo {
			searched, err = g.goTree(c)
		}
		if err != nil {
			return nil, err
		}
	}
	c.Env = []string{"HOME=/root", "PATH=" + searched, "TERM=xterm-256color"}
	for i := range b.Mounts {
		m, err := checkMount(&b.Mounts[i])
		if err != nil {
			return nil, err
		}
		c.Mounts = append(c.Mounts, *m)
	}
	return c, nil
}

// hostUserland shows the host's programs.
func hostUserland(c *config) {
	c.show("/usr", "/usr")
	// Either these are links into /usr, then the same links; or they are directories of their own.
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if to, err := os.Readlink(name); err == nil {
			c.Links = append(c.Links, link{Path: name, To: to})
		} else {
			c.show(name, name)
		}
	}
	c.show("/nix/store", "/nix/store") // where a NixOS host has what the links in its /usr and /bin lead to
	for _, name := range hostEtc {
		c.show("/etc/"+name, "/etc/"+name)
	}
}

// show binds a part of the host, if the host has it, read-only.
func (c *config) show(source, target string) {
	real, err := filepath.EvalSymlinks(source)
	if err != nil {
		return
	}
	if _, err := os.Stat(real); err == nil {
		c.Binds = append(c.Binds, bind{Source: real, Target: target})
	}
}

// useShell makes shell the machine's /bin/sh. The link may lie in the read-only /usr, so the shell takes the place of the one
// that it leads to.
func useShell(c *config, shell string) error {
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		return &Error{Step: "find /bin/sh", Err: err}
	}
	for _, dir := range filepath.SplitList(defaultPath) {
		real, err := filepath.EvalSymlinks(filepath.Join(dir, shell))
		if err != nil {
			continue
		}
		if real != sh {
			c.Binds = append(c.Binds, bind{Source: real, Target: sh})
		}
		return nil
	}
	return &Error{
		Step:   "find " + shell,
		Err:    fmt.Errorf("not in %s: %w", defaultPath, os.ErrNotExist),
		Remedy: "apt-get install " + shell,
	}
}

// checkMount returns the bind for a directory of the caller's.
func checkMount(m *sim.Mount) (*bind, error) {
	refuse := func(err error) (*bind, error) {
		return nil, &Error{Step: fmt.Sprintf("mount %q at %q", m.Source, m.Target), Err: err}
	}
	target := path.Clean(m.Target)
	switch {
	case !path.IsAbs(m.Target) || strings.ContainsRune(m.Target, 0):
		return refuse(errors.New("the target is not an absolute path"))
	case slices.Contains(strings.Split(m.Target, "/"), ".."):
		return refuse(errors.New("the target has a .. in it"))
	case target == "/" || within(target, "/proc") || within(target, "/dev"):
		return refuse(errors.New("the target would cover what the machine needs"))
	case !path.IsAbs(m.Source):
		return refuse(errors.New("the source is not an absolute path"))
	}
	source, err := filepath.EvalSymlinks(m.Source)
	if err != nil {
		return refuse(err)
	}
	if fi, err := os.Stat(source); err != nil {
		return refuse(err)
	} else if !fi.IsDir() {
		return refuse(unix.ENOTDIR)
	}
	return &bind{Source: source, Target: target, Writable: !m.ReadOnly, Private: true}, nil
}

// within reports whether name is dir or below it.
func within(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// hostname is the machine's name if that is a lower-case DNS label, as machines have it.
func hostname(name string) string {
	if len(name) < 1 || len(name) > 63 || name[0] == '-' || name[len(name)-1] == '-' {
		return "container"
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return "container"
		}
	}
	return name
}
