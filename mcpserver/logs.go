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

// maxLogLines is the most lines of a log that are asked for.
const maxLogLines = 10_000

// logCursor is a place in a log. Neither service has one: it is known again by the lines before it.
type logCursor struct {
	// Boot is when the machine was booted as far as the fleet tells, Count how many lines there were.
	Boot  string `json:"b"`
	Count int    `json:"n"`
	// Hash is that of the last three lines that were given.
	Hash string `json:"h"`
}

// logs returns the lines after the cursor, or without one the newest.
func (c *call) logs(ctx context.Context, m *smol.Machine, tail int, cursor string) (*machineLogsResult, error) {
	var from logCursor
	if cursor != "" {
		data, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil || json.Unmarshal(data, &from) != nil || from.Count < 0 {
			return nil, fail(CodeInvalid, "argument cursor is none that machine-logs has given").hint("Leave it out to begin with the newest lines.")
		}
	}
	info, err := m.Info(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for line, err := range m.Logs(ctx, &smol.LogOptions{Tail: maxLogLines}) {
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	res := &machineLogsResult{Lines: lines}
	at, known := len(lines)-tail, true
	if cursor != "" {
		at, known = from.find(bootOf(info), lines)
		res.Truncated = !known
	}
	if !known {
		at = len(lines) - tail
	}
	res.Lines = slices.Clone(lines[max(0, at):])
	if res.Lines == nil {
		res.Lines = []string{}
	}
	next, err := json.Marshal(logCursor{Boot: bootOf(info), Count: len(lines), Hash: hashLines(lines)})
	res.Cursor = base64.RawURLEncoding.EncodeToString(next)
	return res, err
}

// bootOf names the boot of a machine.
func bootOf(i *smol.Info) string { return strconv.Itoa(i.PID) }

// find returns the index of the first line after the cursor, if the lines before it are there: where they were, or further up since older
// lines were dropped.
func (l logCursor) find(boot string, lines []string) (at int, ok bool) {
	if boot != l.Boot {
		return 0, false
	}
	for at := min(l.Count, len(lines)); at >= 0; at-- {
		if hashLines(lines[:at]) == l.Hash && (at == l.Count || at > 0) {
			return at, true
		}
	}
	return 0, false
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
