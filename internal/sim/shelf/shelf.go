// Package shelf keeps what a stand-in writes down: a record for each machine, and a directory with its console and its guest's state.
//
// The records are in records/HASH.json, the machines in vms/HASH, where HASH comes from the machine's name: names are too long for files,
// and differ in case only.
package shelf

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

// Shelf is a data directory with records of type R. Its methods are safe for concurrent use on different machines.
type Shelf[R any] struct {
	dir  string
	name func(*R) string
}

// Open makes the directory where it is missing, for its owner only. Name tells which machine a record is of.
func Open[R any](dir string, name func(*R) string) (*Shelf[R], error) {
	for _, d := range []string{dir, filepath.Join(dir, "records"), filepath.Join(dir, "vms")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	return &Shelf[R]{dir, name}, nil
}

// Hash is what the files of a machine are called.
func Hash(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

func (s *Shelf[R]) record(name string) string {
	return filepath.Join(s.dir, "records", Hash(name)+".json")
}

// VM is the machine's directory.
func (s *Shelf[R]) VM(name string) string { return s.At(Hash(name)) }

// At is the directory of the machine with the hash.
func (s *Shelf[R]) At(hash string) string { return filepath.Join(s.dir, "vms", hash) }

// Guest is the state directory of the machine's guest.
func (s *Shelf[R]) Guest(name string) string { return filepath.Join(s.VM(name), "guest") }

// Console is the file with the machine's console.
func (s *Shelf[R]) Console(name string) string { return filepath.Join(s.VM(name), "console.log") }

// Save writes a record so that it is there whole or as before.
func (s *Shelf[R]) Save(r *R) error {
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
		err = os.Rename(f.Name(), s.record(s.name(r)))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Load reads all records. Files left half-written are removed.
func (s *Shelf[R]) Load() ([]*R, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "records"))
	if err != nil {
		return nil, err
	}
	var list []*R
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
		r := new(R)
		if err := json.Unmarshal(b, r); err != nil {
			return nil, fmt.Errorf("record %s: %w", file, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// Remove forgets a record; one that is not there is forgotten already.
func (s *Shelf[R]) Remove(name string) error {
	err := os.Remove(s.record(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Prepare makes the directory of a machine.
func (s *Shelf[R]) Prepare(name string) error {
	if err := os.MkdirAll(s.VM(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.VM(name), "name"), []byte(name), 0o600)
}

// Dangling returns the hashes of machine directories that are not among the known ones.
func (s *Shelf[R]) Dangling(known map[string]bool) []string {
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
