package serve

import (
	"strconv"

	"golang.org/x/sys/windows"
)

const stillActive = 259 // STATUS_PENDING, the exit code of what has not exited

// startOf tells when the process began.
func startOf(pid int) (string, bool) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return "", false
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var code uint32
	if err := windows.GetExitCodeProcess(h, &code); err != nil || code != stillActive {
		return "", false
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return "", false
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), true
}
