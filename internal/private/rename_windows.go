package private

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// renaming is how long a file may be open elsewhere: whoever reads it is done at once, and scanners of viruses soon.
const renaming = time.Second

// rename replaces the file at path. While another program has that open Windows refuses it, by one of two errors, as a rule for a moment.
func rename(from, path string) error {
	end := time.Now().Add(renaming)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := os.Rename(from, path)
		busy := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
		if !busy || time.Now().After(end) {
			return err
		}
		<-time.After(wait)
	}
}
