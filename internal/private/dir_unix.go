//go:build linux || darwin

package private

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// makePrivate makes a directory for this user only, whatever the umask.
func makePrivate(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}

func checkPrivate(dir string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() {
		return refuse(dir, "belongs to another user", "choose another one, or remove it")
	}
	if perm := info.Mode().Perm(); perm != 0o700 {
		return refuse(dir, fmt.Sprintf("has the mode %04o, not 0700", perm), "chmod 700 "+dir)
	}
	return nil
}
