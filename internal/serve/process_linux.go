package serve

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// startOf tells when the process began: ticks since the system did, and which time the system began.
func startOf(pid int) (string, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	// The name stands in parentheses, and may have some of its own.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "", false
	}
	// The first thread can have ended before the others, which hold the files until then: the socket, the port and the lock of the data.
	if ended := fields[0][0] == 'Z' || fields[0][0] == 'X'; ended && (string(fields[17]) == "1" || string(fields[17]) == "0") {
		return "", false
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		boot = nil
	}
	id, _, _ := strings.Cut(string(boot), "-")
	return id + "+" + string(fields[19]), true
}
