package local

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// store is the data directory: records in records/<hash>.json, and for each machine vms/<hash> with a file that tells its name, its console and
// its guest's state.
type store struct {
	dir string
}

func openStore(dir string) (*store, error) {
	for _, d := range []string{dir, filepath.Join(dir, "records"), filepath.Join(dir, "vms")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	return &store{dir}, nil
}

// hash names a machine's files: names of machines are too long, and differ in case only.
func hash(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

func (s *store) record(name string) string {
	return filepath.Join(s.dir, "records", hash(name)+".json")
}

func (s *store) vm(name string) string      { return filepath.Join(s.dir, "vms", hash(name)) }
func (s *store) guest(name string) string   { return filepath.Join(s.vm(name), "guest") }
func (s *store) console(name string) string { return filepath.Join(s.vm(name), "console.log") }

// save writes a record so that it is there whole or as before.
func (s *store) save(r *record) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Join(s.dir, "records"), "new-")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.record(r.Name))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// load reads all records. Files left half-written are removed.
func (s *store) load() ([]*record, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "records"))
	if err != nil {
		return nil, err
	}
	var list []*record
	for _, e := range entries {
		file := filepath.Join(s.dir, "records", e.Name())
		if !strings.HasSuffix(file, ".json") {
			os.Remove(file)
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r := &record{}
		if err := json.Unmarshal(b, r); err != nil {
			return nil, fmt.Errorf("record %s: %w", file, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// remove forgets a record.
func (s *store) remove(name string) error {
	err := os.Remove(s.record(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// prepare makes the directory of a machine.
func (s *store) prepare(name string) error {
	if err := os.MkdirAll(s.vm(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.vm(name), "name"), []byte(name), 0o600)
}

// dangling returns the hashes of machine directories that no record knows.
func (s *store) dangling(known map[string]bool) []string {
	entries, err := os.ReadDir(filepath.Join(s.dir, "vms"))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if !known[e.Name()] {
			out = append(out, e.Name())
		}
	}
	return out
}
