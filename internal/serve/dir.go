package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/smol-machines/smol-go/smol"
)

// makeDir makes the runtime directory, for this user only, unless there is one; that must be of this user and nobody else's.
func makeDir(dir string) error {
	err := os.MkdirAll(filepath.Dir(dir), 0o700)
	if err == nil {
		err = makePrivate(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return unavailable(err, fmt.Sprintf("cannot make the runtime directory %s: %v", dir, err), "choose another one")
	}
	return checkDir(dir)
}

// checkDir reports whether the directory can be trusted. The error matches fs.ErrNotExist if there is none.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return unavailable(err, fmt.Sprintf("the runtime directory %s cannot be used: %v", dir, err), "choose another one")
	}
	if !info.IsDir() {
		return refuseDir(dir, "is no directory", "remove it, or name a directory itself and not a link to it")
	}
	return checkPrivate(dir, info)
}

func refuseDir(dir, why, fix string) error {
	return failure(smol.CodePermissionDenied, ErrNotServed, nil, "the runtime directory "+dir+" "+why+"; whoever can write there could be served instead of you", fix)
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
