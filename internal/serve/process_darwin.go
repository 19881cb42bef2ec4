package serve

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB of sys/proc.h

// startOf tells when the process began.
func startOf(pid int) (string, bool) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid || p.Proc.P_stat == zombie {
		return "", false
	}
	return fmt.Sprintf("%d.%06d", p.Proc.P_starttime.Sec, p.Proc.P_starttime.Usec), true
}
