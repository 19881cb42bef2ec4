package script

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links a name may lead through, as in Linux.
const maxLinks = 40

// What the machine's own kernel would say; the numbers behind the words differ between the systems this runs on.
var (
	errTooManyLinks = errors.New("too many levels of symbolic links")
	errCrossDevice  = errors.New("invalid cross-device link")
	errIsDir        = errors.New("is a directory")
	errNotDir       = errors.New("not a directory")
)

// place is where a guest path lies on the host.
type place struct {
	at       string // the guest path, without symbolic links
	root     *os.Root
	rel      string
	readOnly bool
}

// find resolves name and tells where that is on the host. The last element is followed if it is a symbolic link and follow is set.
func (t *Tree) find(name string, follow bool) (place, error) {
	at, err := t.resolve(name, follow)
	if err != nil {
		return place{}, err
	}
	return t.place(at)
}

// place is where a path without symbolic links lies.
func (t *Tree) place(at string) (place, error) {
	p := place{at: at, root: t.root, rel: at[1:]}
	for _, m := range t.mounts {
		if rest, ok := strings.CutPrefix(at, m.at); ok && (rest == "" || rest[0] == '/') {
			p = place{at: at, root: m.root, rel: strings.TrimPrefix(rest, "/"), readOnly: m.readOnly}
			break
		}
	}
	p.rel = hostPath(p.rel)
	if p.rel == "" {
		p.rel = "."
	}
	var err error
	// Localize also refuses what this host cannot express: NUL, and on Windows the name of a device.
	p.rel, err = filepath.Localize(p.rel)
	if err != nil {
		return place{}, fs.ErrInvalid
	}
	return p, nil
}

// resolve returns the path without symbolic links, "." and ".." that name means. os.Root cannot be left to do this: it refuses absolute
// links, which are ordinary inside a machine. What does not exist is taken as it is written, so that it can be made.
func (t *Tree) resolve(name string, follow bool) (string, error) {
	if !strings.HasPrefix(name, "/") {
		return "", fs.ErrInvalid
	}
	at, rest, links := "/", strings.Split(name, "/"), 0
	for len(rest) > 0 {
		elem := rest[0]
		rest = rest[1:]
		switch elem {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, elem)
		last := strings.Join(rest, "") == ""
		if last && !follow {
			return next, nil
		}
		to, err := t.link(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return missing(next, rest)
		case err != nil:
			return "", err
		case to == "":
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", errTooManyLinks
		}
		if strings.HasPrefix(to, "/") {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return at, nil
}

// missing is the rest of a path of which next does not exist.
func missing(next string, rest []string) (string, error) {
	for _, elem := range rest {
		if elem == ".." {
			return "", fs.ErrNotExist
		}
	}
	return path.Join(next, path.Join(rest...)), nil
}

// link returns what the symbolic link at says, or "" if it is something else.
func (t *Tree) link(at string) (string, error) {
	p, err := t.place(at)
	if err != nil {
		return "", err
	}
	fi, err := p.root.Lstat(p.rel)
	if err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		return "", err
	}
	to, err := p.root.Readlink(p.rel)
	return filepath.ToSlash(to), err
}

// onPlace runs f where name lies.
func onPlace[T any](t *Tree, op, name string, follow bool, f func(place) (T, error)) (T, error) {
	p, err := t.find(name, follow)
	if err != nil {
		var zero T
		return zero, guestError(op, name, err)
	}
	v, err := f(p)
	return v, guestError(op, name, err)
}

// change runs f, which writes, where name lies.
func (t *Tree) change(op, name string, follow bool, f func(place) error) error {
	_, err := onPlace(t, op, name, follow, func(p place) (struct{}, error) {
		if p.readOnly {
			return struct{}{}, ErrReadOnly
		}
		return struct{}{}, f(p)
	})
	return err
}

// guestError says err about the path as the machine knows it, without the host's, and in its words.
func guestError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		err = le.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: inWords(err)}
}
