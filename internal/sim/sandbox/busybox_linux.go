package sandbox

import (
	"debug/elf"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// noShellPrograms are all that a machine without a shell has.
var noShellPrograms = []string{"echo", "false", "sleep", "true"}

// busybox makes a machine of a static busybox. It gets a copy: unlike a part of the host it can be changed there.
func (g *Guest) busybox(c *config, k kind) error {
	source, err := g.findBusybox()
	if err != nil {
		return err
	}
	if k == kindNoShell {
		p := program{Source: source, Target: "/bin/cat"} // it does what its name says
		for _, name := range noShellPrograms {
			p.Names = append(p.Names, "/bin/"+name)
		}
		c.Programs = append(c.Programs, p)
		return nil
	}
	names, err := g.applets()
	if err != nil {
		return err
	}
	for _, dir := range []string{"/sbin", "/usr/bin", "/usr/sbin"} {
		c.Links = append(c.Links, link{Path: dir, To: "/bin"})
	}
	p := program{Source: source, Target: "/bin/busybox"}
	for _, name := range names {
		p.Names = append(p.Names, "/bin/"+name)
	}
	c.Programs = append(c.Programs, p)
	return nil
}

// findBusybox returns the path of a busybox that needs no libraries.
func (g *Guest) findBusybox() (string, error) {
	candidates := []string{"/bin/busybox", "/usr/bin/busybox"}
	if g.opts.Busybox != "" {
		candidates = []string{g.opts.Busybox}
	}
	var errs []error
	for _, name := range candidates {
		real, err := filepath.EvalSymlinks(name)
		if err == nil {
			err = checkStatic(real)
		}
		if err == nil {
			return real, nil
		}
		errs = append(errs, err)
	}
	return "", &Error{Step: "find busybox", Err: errors.Join(errs...), Remedy: "apt-get install busybox-static"}
}

// checkStatic returns an error unless the program runs without a loader.
func checkStatic(name string) error {
	f, err := elf.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is not statically linked", name)
		}
	}
	return nil
}

func (g *Guest) listApplets() ([]string, error) {
	busybox, err := g.findBusybox()
	if err != nil {
		return nil, err
	}
	out, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return nil, &Error{Step: "list the applets of busybox", Err: err}
	}
	return strings.Fields(string(out)), nil
}
