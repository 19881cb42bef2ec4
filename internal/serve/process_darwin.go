package serve

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB of sys/proc.h

// startOf tells when the process began. The error is errDied if it has ended, and another if that cannot be told.
func startOf(pid int) (string, error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	switch {
	case errors.Is(err, unix.EIO), errors.Is(err, unix.ESRCH): // EIO is what it makes of an empty answer
		return "", errDied
	case err != nil:
		return "", err
	case int(p.Proc.P_pid) != pid || p.Proc.P_stat == zombie:
		return "", errDied
	}
	return fmt.Sprintf("%d.%06d", p.Proc.P_starttime.Sec, p.Proc.P_starttime.Usec), nil
}
