package script

import (
	"errors"
	"io/fs"
	"syscall"
)

// said is an error in other words.
type said struct {
	words string
	err   error
}

func (s *said) Error() string { return s.words }

func (s *said) Unwrap() error { return s.err }

// words are what Linux says; the first one that fits is taken.
var words = []said{
	{"no such file or directory", fs.ErrNotExist},
	{"permission denied", fs.ErrPermission},
	{"directory not empty", syscall.ERROR_DIR_NOT_EMPTY},
	{"file exists", fs.ErrExist},
}

// inWords says err as a machine does: its kernel is Linux whatever the host is.
func inWords(err error) error {
	for _, w := range words {
		if errors.Is(err, w.err) {
			return &said{w.words, err}
		}
	}
	return err
}
