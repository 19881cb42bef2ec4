package serve

import (
	"errors"
	"strconv"

	"golang.org/x/sys/windows"
)

const stillActive = 259 // STATUS_PENDING, the exit code of what has not exited

// startOf tells when the process began. The error is errDied if it has ended, and another if that cannot be told.
func startOf(pid int) (string, error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	switch {
	case errors.Is(err, windows.ERROR_INVALID_PARAMETER), errors.Is(err, windows.ERROR_ACCESS_DENIED): // another user's, so the pid was given again
		return "", errDied
	case err != nil:
		return "", err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var code uint32
	if err := windows.GetExitCodeProcess(h, &code); err != nil {
		return "", err
	}
	if code != stillActive {
		return "", errDied
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return "", err
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), nil
}
