package serve

import (
	"time"

	"github.com/smol-machines/smol-go/internal/private"
)

// For the tests of what is pure, or depends on the system.
var (
	Minimal       = minimal
	BinaryVersion = parseBinaryVersion
	ListenArg     = listenArgument
	TrimLog       = trimLog
	Tail          = tail
	Identify      = identify
)

// ParseRecord reports what is wrong with a record, and writes a good one again.
func ParseRecord(b []byte) (pid, owner int, url string, err error) {
	r, err := parseRecord(b)
	if err != nil {
		return 0, 0, "", err
	}
	return r.PID, r.Owner.PID, r.URL, nil
}

// HoldLock takes the lock at path, as another program does.
func HoldLock(path string, exclusive bool) (release func(), err error) {
	l, err := private.TryLock(path, exclusive)
	if l == nil {
		return nil, err
	}
	return l.Release, nil
}

// Gone waits until p has ended.
func (p Process) Gone(limit time.Duration) bool { return p.gone(limit) }
