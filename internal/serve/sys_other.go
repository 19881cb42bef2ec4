//go:build !linux && !darwin && !windows

package serve

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

var errSystem = fmt.Errorf("there is no smolvm for %s: %w", runtime.GOOS, errors.ErrUnsupported)

func startOf(int) (string, error) { return "", errSystem }

func spawn(*command) (*exec.Cmd, *os.File, error) { return nil, nil, errSystem }

func open(*os.File) error { return errSystem }

func askToEnd(*os.Process) error { return errSystem }
