package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
	"unicode/utf8"
)

const (
	// version is that of the form of the record.
	version = 1
	// maxRecord is the most bytes that a record may have: some ten thousand machines.
	maxRecord = 2 << 20
	// maxText is the most bytes that a name, or an address of a service, may have.
	maxText = 1024
	// maxTime is far away, and still fits into any arithmetic.
	maxTime = 1 << 40
	// sessionDigits is how many digits the id of a session has.
	sessionDigits = 8
)

// Entry is a machine on record.
type Entry struct {
	// Name is what the machine is called.
	Name string `json:"name"`
	// Session is that which it goes with: 8 lower-case hexadecimal digits.
	Session string `json:"session"`
	// Service says which service has it, as the configuration names it; empty: the one that is found by default.
	Service string `json:"service,omitempty"`
	// Since is when it was first asked for, and Asked when last, in Unix seconds. A machine that was made before, or long after, is somebody
	// else's.
	Since int64 `json:"since"`
	Asked int64 `json:"asked"`
}

// UnderWay is how long it can take from when a machine is asked for until the service makes it.
const UnderWay = 10 * time.Minute

// Settled reports whether at now no create can be under way any more.
func (e Entry) Settled(now time.Time) bool { return now.Unix() > e.Asked+int64(UnderWay/time.Second) }

// Made reports whether a machine that was created at that time can be the one on record. The zero time is one that was not told.
func (e Entry) Made(at time.Time) bool {
	return at.IsZero() || at.Unix() >= e.Since && !e.Settled(at)
}

func (e Entry) check() error {
	switch {
	case e.Name == "" || len(e.Name) > maxText || !utf8.ValidString(e.Name):
		return errors.New("a machine has no sound name")
	case !isID(e.Session, sessionDigits):
		return fmt.Errorf("machine %.200q has the session %.40q", e.Name, e.Session)
	case len(e.Service) > maxText || !utf8.ValidString(e.Service):
		return fmt.Errorf("machine %.200q has an unsound service", e.Name)
	case e.Since <= 0 || e.Asked < e.Since || e.Asked > maxTime:
		return fmt.Errorf("machine %.200q was asked for from %d until %d", e.Name, e.Since, e.Asked)
	}
	return nil
}

// document is the form of machines.json.
type document struct {
	Version  int     `json:"version"`
	Machines []Entry `json:"machines"`
}

func format(all []Entry) ([]byte, error) {
	for _, e := range all {
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("ledger: not put on record: %w", err)
		}
	}
	b, err := json.Marshal(document{version, all})
	if err == nil && len(b) >= maxRecord {
		err = &Error{fmt.Sprintf("%d machines are on record, which is too many", len(all)), "delete some", nil}
	}
	return append(b, '\n'), err
}

// Parse returns the machines of a record. It refuses what it would not write itself.
func Parse(b []byte) ([]Entry, error) {
	if len(b) > maxRecord {
		return nil, fmt.Errorf("it has more than %d bytes", maxRecord)
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("it is no record: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the record")
	}
	if d.Version != version {
		return nil, fmt.Errorf("it has version %d, and this program reads version %d", d.Version, version)
	}
	for _, e := range d.Machines {
		if err := e.check(); err != nil {
			return nil, err
		}
	}
	return d.Machines, nil
}

// read returns what is on record; nothing if there is no record yet.
func (l *Ledger) read() ([]Entry, error) {
	path := l.path("machines.json")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []Entry
	if err == nil {
		var b []byte
		b, err = io.ReadAll(io.LimitReader(f, maxRecord+1))
		_ = f.Close()
		if err == nil {
			all, err = Parse(b)
		}
	}
	if err != nil {
		return nil, &Error{fmt.Sprintf("the record of machines %s cannot be read: %v", path, err), "delete the machines that it names, if they are not wanted, and remove the file", err}
	}
	return all, nil
}
