package guest

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// NewID returns an id for a job started at that time: job-YYYYMMDD-HHMMSS-xxxxxx in UTC, the last part random. Ids sort by time.
func NewID(now time.Time) string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails
	return "job-" + now.UTC().Format("20060102-150405") + "-" + hex.EncodeToString(b[:])
}
