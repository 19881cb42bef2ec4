package local

import (
	"errors"
	"fmt"
	"path/filepath"
)

// scratchPrefix begins the names of state directories that last no longer than a call. They lie in the directory of the machine that they
// are for.
const scratchPrefix = "scratch-"

// scratch returns a name for such a directory, which does not exist yet.
func (s *Server) scratch(name string) string {
	return filepath.Join(s.store.VM(name), fmt.Sprint(scratchPrefix, s.counter.Add(1)))
}

// sweep removes those that a server left which was killed, with what runs in them.
func (s *Server) sweep(vm string) error {
	left, err := filepath.Glob(filepath.Join(vm, scratchPrefix+"*"))
	for _, dir := range left {
		if inst, err := s.adopt(dir); err == nil {
			_ = inst.Kill()
		}
		err = errors.Join(err, s.o.Guest.Remove(dir))
	}
	return err
}
