package host

import (
	"bytes"
	"fmt"
	"os"
)

// alive reports whether the process runs. A zombie does not: one that was adopted is for others to reap, and in a container nobody may.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprint("/proc/", pid, "/stat"))
	if err != nil {
		return false
	}
	_, fields, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(fields, []byte("Z"))
}
