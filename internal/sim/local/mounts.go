package local

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

type mountSpec struct {
	Source   string `serde:"source"`
	Target   string `serde:"target"`
	ReadOnly bool   `serde:"readonly,default"`
}

// protected are the host paths that cannot be mounted: some exactly, some with all below them.
var protected = map[string]struct{ exact, trees string }{
	"linux":   {"/ /var", "/var/run /var/log /etc /boot /usr /bin /sbin /lib /proc /sys /dev /run"},
	"darwin":  {"/ /private/var", "/private/var/run /private/var/log /private/etc /usr /bin /sbin /lib /System /Library"},
	"windows": {`C:\`, `C:\Windows|C:\Program Files|C:\Program Files (x86)|C:\ProgramData`},
}

func isProtected(p string) bool {
	list := protected[runtime.GOOS]
	for _, e := range strings.Fields(list.exact) {
		if p == e {
			return true
		}
	}
	trees := strings.Fields(list.trees)
	if strings.Contains(list.trees, "|") {
		trees = strings.Split(list.trees, "|")
	}
	for _, t := range trees {
		if p == t || strings.HasPrefix(p, t+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// remote reports whether a source is a volume elsewhere.
func remote(source string) bool {
	return strings.HasPrefix(source, "s3://") || strings.HasPrefix(source, ":")
}

func tag(i int) string { return fmt.Sprintf("smolvm%d", i) }

// checkMount returns what is wrong with a mount of the host.
func checkMount(m mount) error {
	wrong := func(op, format string, args ...any) error {
		return fmt.Errorf("mount operation failed: "+op+": "+format, args...)
	}
	if !filepath.IsAbs(m.Source) {
		return wrong("validate source", "path must be absolute: %s", m.Source)
	}
	target, err := filepath.EvalSymlinks(m.Source)
	if err != nil {
		return fmt.Errorf("mount source not found: %s", m.Source)
	}
	fi, err := os.Stat(target)
	switch {
	case err != nil:
		return fmt.Errorf("mount source not found: %s", m.Source)
	case !fi.IsDir():
		return wrong("validate host path", "source path on host must be a directory (virtiofs limitation): %s", m.Source)
	case isProtected(target):
		return wrong("validate host path", "source path on host is a protected system path and cannot be mounted: %s", target)
	case !path.IsAbs(m.Target):
		return wrong("validate guest path", "target path on guest should be an absolute directory: %s", m.Target)
	}
	return nil
}

// checkMounts checks them all, and that no target is there twice.
func checkMounts(mounts []mount) error {
	seen := map[string]bool{}  // by host mounts
	other := map[string]bool{} // by remote volumes
	for _, m := range mounts {
		if remote(m.Source) {
			other[m.Target] = true
			continue
		}
		if err := checkMount(m); err != nil {
			return err
		}
		if seen[m.Target] {
			return fmt.Errorf("mount operation failed: validate mounts: duplicate mount target: %s is specified more than once", m.Target)
		}
		seen[m.Target] = true
	}
	for target := range other {
		if seen[target] {
			return fmt.Errorf("duplicate mount target: %s is specified more than once", target)
		}
	}
	return nil
}
