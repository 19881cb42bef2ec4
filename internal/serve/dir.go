package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/smol-machines/smol-go/internal/private"
	"github.com/smol-machines/smol-go/smol"
)

// dirError says of an error of package private that there is no service because of it.
func dirError(err error) error {
	var e *private.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Unsafe {
		return failure(smol.CodePermissionDenied, ErrNotServed, nil, e.Problem, e.Fix)
	}
	return unavailable(e.Err, e.Problem, e.Fix)
}

// removeSocket removes a socket that nobody listens at. What is no socket is left alone, and an error: the serve would delete it.
func removeSocket(url string) error {
	path, ok := strings.CutPrefix(url, "unix://")
	if !ok {
		return nil
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && info.Mode().Type() != fs.ModeSocket:
		return unavailable(nil, path+" is no socket, and smolvm would delete it", "move it away")
	case err == nil:
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable(err, fmt.Sprintf("cannot remove the socket %s: %v", path, err), "remove it")
	}
	return nil
}
