package sandbox

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// closeAllBut closes every descriptor that leads out of the machine: a guest would find it in /proc/1/fd. These are the set-up's own,
// those that whoever started us left open, and those that this program opened before it came here, as the Go runtime
// does with the files of its control group.
func closeAllBut(keep ...int) error {
	// The runtime does not look at its control group any more once the number is set. Two is plenty for an agent.
	runtime.GOMAXPROCS(2)
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < listenerFD || slices.Contains(keep, fd) {
			continue
		}
		link, err := os.Readlink("/proc/self/fd/" + e.Name())
		if errors.Is(err, os.ErrNotExist) || strings.HasPrefix(link, "anon_inode:") {
			continue // gone already, or how the runtime waits
		}
		if err := shut(fd, keep[0]); err != nil && !errors.Is(err, unix.EBADF) { // it may have been closed just now
			return err
		}
	}
	return nil
}

// shut closes a descriptor that came through the exec, which therefore nobody in this process knows. One of the process's own
// becomes the null device instead: whoever goes on using it must not meet what gets its number next.
func shut(fd, null int) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil {
		return err
	}
	if flags&unix.FD_CLOEXEC == 0 {
		return unix.Close(fd)
	}
	return unix.Dup3(null, fd, unix.O_CLOEXEC)
}

// silence puts the machine's null device in the place of the three descriptors that lead to the parent, which reads until then.
func silence(null int) {
	for fd := range listenerFD {
		unix.Dup3(null, fd, 0)
	}
}
