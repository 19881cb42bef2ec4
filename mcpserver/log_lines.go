package mcpserver

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

const (
	// maxLogLines is the most lines of a log that are asked for; a fleet gives no more.
	maxLogLines = 10_000
	// bootEvents stands where the boot of a console is named, for lines that are events.
	bootEvents = "events"
)

// logLines returns the newest lines of what there is to read of a machine: of its console, and where the cloud has none, or none yet, of what
// the service says has happened to it.
func logLines(ctx context.Context, m *smol.Machine, tail int) (lines []string, events bool, err error) {
	lines = []string{}
	for line, e := range m.Logs(ctx, &smol.LogOptions{Tail: tail}) {
		if err = e; e == nil {
			lines = append(lines, line)
		}
	}
	cm, ok := cloud.Extend(m)
	if !ok || len(lines) > 0 || err != nil && !isNoConsole(err) {
		return lines, false, err
	}
	for e, fail := range cm.Events(ctx, nil) {
		switch {
		case fail != nil && err != nil:
			return nil, false, err // neither: of a machine that is not there, too
		case fail != nil && isNoConsole(fail):
			return lines, false, nil
		case fail != nil:
			return nil, false, fail
		}
		lines = append(lines, eventLine(e))
	}
	return lines[max(0, len(lines)-tail):], true, nil
}

// isNoConsole reports whether err says that there is nothing of its kind: an older service, or a machine that was never booted.
func isNoConsole(err error) bool {
	return isNotFound(err) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, smol.ErrConflict)
}

// eventLine returns an event as a line.
func eventLine(e *cloud.Event) string {
	return e.At.UTC().Format(time.RFC3339) + " " + e.Level + ": " + strings.Join(strings.Fields(e.Message), " ")
}
