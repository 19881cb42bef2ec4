package local

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// errnos are errors of the guest's system, a Linux whatever this one is, with their numbers there.
var errnos = []struct {
	err    error
	text   string
	number int
}{
	{fs.ErrNotExist, "No such file or directory", 2},
	{syscall.E2BIG, "Argument list too long", 7},
	{syscall.ENOEXEC, "Exec format error", 8},
	{fs.ErrPermission, "Permission denied", 13},
	{syscall.ENOTDIR, "Not a directory", 20},
	{syscall.EISDIR, "Is a directory", 21},
	{syscall.EINVAL, "Invalid argument", 22},
	{syscall.ENOSPC, "No space left on device", 28},
	{syscall.EROFS, "Read-only file system", 30},
	{syscall.ENAMETOOLONG, "File name too long", 36},
	{syscall.ELOOP, "Too many levels of symbolic links", 40},
}

// errnoText is an error of the guest's system in its words, or "".
func errnoText(err error) string {
	for _, e := range errnos {
		if errors.Is(err, e.err) {
			return fmt.Sprintf("%s (os error %d)", e.text, e.number)
		}
	}
	return ""
}
