//go:build !linux && !darwin && !windows

package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

var errSystem = fmt.Errorf("files cannot be locked on %s: %w", runtime.GOOS, errors.ErrUnsupported)

func lockFile(*os.File, bool) (bool, error) { return false, errSystem }

func unlockFile(*os.File) {}

func makePrivate(string) error { return errSystem }

func checkPrivate(string, fs.FileInfo) error { return errSystem }
