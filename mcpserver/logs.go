package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/smol-machines/smol-go/smol"
)

// console is what a fleet keeps of a machine's console at one moment.
type console struct {
	// boot names the boot that the lines are of, or says that they are events; empty if the machine does not run, or the fleet does not tell.
	boot  string
	lines []string
}

// readConsole reads the whole console. A boot in the middle of it would give the lines of one boot to the other, so it is looked at before
// and after.
func readConsole(ctx context.Context, m *smol.Machine) (*console, error) {
	before, err := m.Info(ctx)
	for try := 0; err == nil; try++ {
		boot := bootOf(before)
		lines, events, err := logLines(ctx, m, maxLogLines)
		if err != nil {
			return nil, err
		}
		if before, err = m.Info(ctx); err != nil {
			return nil, err
		}
		if events {
			return &console{boot: bootEvents, lines: lines}, nil
		}
		if bootOf(before) == boot || try == 2 {
			return &console{boot: boot, lines: lines}, nil
		}
	}
	return nil, err
}

// bootOf names the boot of a machine that runs.
func bootOf(i *smol.Info) string {
	if i.PID == 0 {
		return ""
	}
	return strconv.Itoa(i.PID)
}

// logCursor is a place in a console. Neither service has one: it is known again by the lines before it.
type logCursor struct {
	Boot string `json:"b"`
	// Count is how many lines there were.
	Count int `json:"n"`
	// Hash is that of the last three of them.
	Hash string `json:"h"`
}

// parseCursor returns the cursor that was given to a client.
func parseCursor(text string) (logCursor, error) {
	var l logCursor
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(data, &l) != nil || l.Count < 0 {
		return l, fail(CodeInvalid, "argument cursor is none that machine-logs has given").hint("Leave it out to begin with the newest lines.")
	}
	return l, nil
}

// end returns the cursor after the last line of c. A machine that was stopped keeps the console of its last boot, which from knows.
func (c *console) end(from logCursor) logCursor {
	l := logCursor{Boot: c.boot, Count: len(c.lines), Hash: hashLines(c.lines)}
	if l.Boot == "" {
		l.Boot = from.Boot
	}
	return l
}

func (l logCursor) text() string {
	data, _ := json.Marshal(l) // of two strings and a number: cannot fail
	return base64.RawURLEncoding.EncodeToString(data)
}

// find returns the index of the first line after the cursor. It is not found after a boot or a rotation, which both empty the console.
func (l logCursor) find(c *console) (at int, ok bool) {
	if c.boot != "" && c.boot != l.Boot {
		return 0, false
	}
	if len(c.lines) < maxLogLines {
		return l.Count, l.Count <= len(c.lines) && hashLines(c.lines[:l.Count]) == l.Hash
	}
	// There may be older lines than those that were given, so the place can be anywhere; but it must be the only one that it can be.
	for n := min(3, l.Count); n <= len(c.lines); n++ {
		if hashLines(c.lines[:n]) != l.Hash {
			continue
		}
		if ok {
			return 0, false
		}
		at, ok = n, true
	}
	return at, ok
}

// hashLines returns a hash of the last three lines.
func hashLines(lines []string) string {
	h := fnv.New64a()
	for _, line := range lines[max(0, len(lines)-3):] {
		h.Write([]byte(line))
		h.Write([]byte{0})
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// logs returns the lines after the cursor, or without one the newest. A cursor that is not found again means that everything there is came
// after it.
func (c *call) logs(ctx context.Context, m *smol.Machine, tail int, cursor string) (*machineLogsResult, error) {
	var from logCursor
	if cursor != "" {
		var err error
		if from, err = parseCursor(cursor); err != nil {
			return nil, err
		}
	}
	con, err := readConsole(ctx, m)
	if err != nil {
		return nil, err
	}
	res := &machineLogsResult{Cursor: con.end(from).text()}
	at := max(0, len(con.lines)-tail)
	if cursor != "" {
		var found bool
		at, found = from.find(con)
		res.Truncated = !found
		if !found {
			at = 0
		}
	}
	res.Lines = slices.Clone(con.lines[at:])
	return res, nil
}
