//go:build unix

package disks

import (
	"io/fs"
	"syscall"
)

// inode names the file behind fi if it has further names.
func inode(fi fs.FileInfo) (id [2]uint64, linked bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || st.Nlink < 2 || fi.IsDir() {
		return id, false
	}
	return [2]uint64{uint64(st.Dev), uint64(st.Ino)}, true
}
