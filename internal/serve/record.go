package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/smol-machines/smol-go/internal/private"
)

// What the owner of a record was about to do.
const (
	stateStarting = "starting"
	stateRunning  = "running"
	stateStopping = "stopping"
)

// maxRecord is more than any record of ours has.
const maxRecord = 64 << 10

// record is what serve.pid holds: the serve's process, who started it or took it over, and where it listens.
type record struct {
	Process
	Owner Process `json:"owner"`
	URL   string  `json:"url"`
	State string  `json:"state"`
}

// readRecord returns nil if there is no record. One that cannot be read is an error: there may well be a serve.
func readRecord(path string) (*record, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var r *record
	if err == nil {
		r, err = parseRecord(b)
	}
	if err != nil {
		return nil, unavailable(err, fmt.Sprintf("the record %s cannot be read: %v", path, err), "end the smolvm serve that it is about, if there is one, and remove the file")
	}
	return r, nil
}

func parseRecord(b []byte) (*record, error) {
	if len(b) > maxRecord {
		return nil, fmt.Errorf("it has %d bytes", len(b))
	}
	r := &record{}
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("it is no record: %w", err)
	}
	switch {
	case r.PID <= 1 || r.Owner.PID < 0:
		return nil, fmt.Errorf("it names process %d", r.PID)
	case r.State != stateStarting && r.State != stateRunning && r.State != stateStopping:
		return nil, fmt.Errorf("it has the state %.40q", r.State)
	case !strings.HasPrefix(r.URL, "unix:///") && !strings.HasPrefix(r.URL, "http://127.0.0.1:"):
		return nil, fmt.Errorf("it has the address %.100q", r.URL)
	}
	return r, nil
}

// write replaces the record as a whole. It is only called under serve.lock.
func (r *record) write(path string) error {
	b, err := json.Marshal(r)
	if err == nil {
		err = private.Replace(path, append(b, '\n'))
	}
	if err != nil {
		return unavailable(err, "cannot write "+path+": "+err.Error(), "see that the disk is not full")
	}
	return nil
}
