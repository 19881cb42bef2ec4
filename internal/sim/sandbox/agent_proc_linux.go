package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// stateBlocked is the state of a thread that waits in the kernel, perhaps for a child that was halted.
const stateBlocked = 'D'

// halted reports whether a thread in this state executes nothing, and will not by itself.
func halted(state byte) bool { return strings.IndexByte("TtZX", state) >= 0 }

// procStat is a line of a stat file of /proc.
type procStat struct {
	pid, parent int
	state       byte
}

// processes returns all processes of the machine.
func processes() []procStat { return readStats("/proc/[0-9]*/stat") }

// threads returns all threads.
func threads() []procStat { return readStats("/proc/[0-9]*/task/[0-9]*/stat") }

func readStats(pattern string) (all []procStat) {
	files, _ := filepath.Glob(pattern)
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil { // or it has ended
			if p, ok := parseStat(string(line)); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// parseStat reads the number, the state and the parent. Between them is the name, in parentheses, of which it may contain some itself.
func parseStat(line string) (p procStat, ok bool) {
	i := strings.LastIndexByte(line, ')')
	if i < 0 {
		return p, false
	}
	var state string
	if _, err := fmt.Sscan(line, &p.pid); err != nil {
		return p, false
	}
	if _, err := fmt.Sscan(line[i+1:], &state, &p.parent); err != nil {
		return p, false
	}
	p.state = state[0]
	return p, true
}
