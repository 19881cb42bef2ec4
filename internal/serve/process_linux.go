package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// startOf tells when the process began: ticks since the system did, and which time the system began. The error
// is errDied if it has ended, and another if that cannot be told.
func startOf(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "", errDied
	}
	if err != nil {
		return "", err
	}
	// The name stands in parentheses, and may have some of its own.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "", fmt.Errorf("what the system tells of it has %d fields", len(fields))
	}
	// The first thread can have ended before the others, which hold the files until then: the socket, the port and the lock of the data.
	if ended := fields[0][0] == 'Z' || fields[0][0] == 'X'; ended && (string(fields[17]) == "1" || string(fields[17]) == "0") {
		return "", errDied
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) { // which would be so of every process, and stay so
		return "", err
	}
	id, _, _ := strings.Cut(string(boot), "-")
	return id + "+" + string(fields[19]), nil
}
