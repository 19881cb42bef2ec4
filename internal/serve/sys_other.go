//go:build !linux && !darwin && !windows

package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
)

var errSystem = fmt.Errorf("there is no smolvm for %s: %w", runtime.GOOS, errors.ErrUnsupported)

func startOf(int) (string, bool) { return "", false }

func spawn(*command) (*exec.Cmd, *os.File, error) { return nil, nil, errSystem }

func open(*os.File) error { return errSystem }

func askToEnd(*os.Process) error { return errSystem }

func lockFile(*os.File, bool) (bool, error) { return false, errSystem }

func unlockFile(*os.File) {}

func makePrivate(string) error { return errSystem }

func checkPrivate(string, fs.FileInfo) error { return errSystem }
