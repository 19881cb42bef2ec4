package cloudwire

import (
	"encoding/json"
	"time"
)

// Time is a moment in a reply. The zero value is one that is missing, null or empty, or that is not in RFC 3339: a date that cannot be read is
// no reason to lose the machine it belongs to.
type Time struct{ time.Time }

// UnmarshalJSON reads a moment and never fails.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	t.Time = time.Time{}
	if json.Unmarshal(b, &s) != nil {
		return nil
	}
	if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
		t.Time = at.UTC()
	}
	return nil
}
