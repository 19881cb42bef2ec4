package smol

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/randhex"
)

// unpacker writes a tree that comes from a machine, and so can hold anything, below a directory of the host.
type unpacker struct {
	ctx  context.Context
	root *os.Root
	skip bool

	in    *os.Root // where the last file went; root itself for ""
	inDir string
	buf   []byte

	copied   int
	problems []string // what was not copied, as far as the error names it
	left     int      // how much was not copied
	code     Code     // of the first problem
	// closed are directories that cannot be filled with the mode they have. They get it when everything else is there.
	closed []closedDir
}

type closedDir struct {
	name string
	mode fs.FileMode
}

// namedProblems is how many of the files that could not be copied an error names.
const namedProblems = 5

func newUnpacker(ctx context.Context, root *os.Root, skip bool) *unpacker {
	return &unpacker{ctx: ctx, root: root, in: root, skip: skip, buf: make([]byte, readAhead)}
}

// problem is why one file cannot be copied, which keeps none of the others from it.
type problem struct {
	code    Code
	special bool // CopyOptions.SkipSpecial leaves it out
	text    string
}

func (p *problem) Error() string { return p.text }

func special(text string) error { return &problem{code: CodeUnsupported, special: true, text: text} }

func inTheWay(text string) error { return &problem{code: CodeExists, text: text} }

// unpack unpacks an archive.
func (x *unpacker) unpack(r io.Reader) error {
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return broken(err)
		}
		if err := context.Cause(x.ctx); err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue // no file
		}
		err = x.entry(h.Name, func(to *os.Root, name string) error { return x.member(to, name, h, tr) })
		if err != nil {
			return broken(err)
		}
	}
}

// broken gives an error of the archive itself a code; those of the stream have one.
func broken(err error) error {
	var e *Error
	if errors.As(err, &e) || isContextError(err) {
		return err
	}
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{Code: CodeInternal, Message: "the machine's tar wrote no archive: " + err.Error(), Err: err}
	}
	return err
}

// entry copies one file with write, which is given its directory, or notes why it cannot be.
func (x *unpacker) entry(name string, write func(to *os.Root, name string) error) error {
	clean, err := localName(name)
	if err == nil && clean == "." {
		return nil
	}
	var to *os.Root
	if err == nil {
		to, err = x.enter(path.Dir(clean))
	}
	if err == nil {
		err = write(to, path.Base(clean))
	}
	var p *problem
	switch {
	case err == nil:
		x.copied++
	case !errors.As(err, &p):
		return err
	case !p.special || !x.skip:
		if x.left++; x.left == 1 {
			x.code = p.code
		}
		if x.left <= namedProblems {
			x.problems = append(x.problems, fmt.Sprintf("%q %s", name, p.text))
		}
	}
	return nil
}

// localName returns the name in its shortest form. It refuses one that leads anywhere else, here or on another system.
func localName(name string) (string, error) {
	clean := path.Clean(strings.TrimLeft(name, "/"))
	if strings.HasPrefix(name, "/") || slices.Contains(strings.Split(name, "/"), "..") || strings.Contains(name, "\x00") ||
		!filepath.IsLocal(filepath.FromSlash(clean)) || filepath.Separator != '/' && strings.ContainsRune(clean, filepath.Separator) {
		return "", &problem{code: CodeInvalid, text: "is no name for a file below the directory"}
	}
	return clean, nil
}

// enter returns the directory below root, made if it is missing. It goes through no symbolic link: an honest archive has none on the way.
func (x *unpacker) enter(dir string) (*os.Root, error) {
	if dir == "." {
		dir = ""
	}
	if dir == x.inDir {
		return x.in, nil
	}
	x.close()
	if dir == "" {
		return x.in, nil
	}
	at := x.root
	for name := range strings.SplitSeq(dir, "/") {
		next, err := enterOne(at, name)
		if at != x.root {
			at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	x.in, x.inDir = at, dir
	return at, nil
}

func enterOne(at *os.Root, name string) (*os.Root, error) {
	info, err := at.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := at.Mkdir(name, 0o755); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, inTheWay(fmt.Sprintf("lies below %q, which is no directory here", name))
	}
	return at.OpenRoot(name)
}

// close lets go of the directory entered last.
func (x *unpacker) close() {
	if x.in != x.root {
		x.in.Close()
	}
	x.in, x.inDir = x.root, ""
}

// member copies one member of an archive.
func (x *unpacker) member(to *os.Root, name string, h *tar.Header, content io.Reader) error {
	perm := fs.FileMode(h.Mode).Perm()
	switch h.Typeflag {
	case tar.TypeDir:
		return x.makeDir(to, name, path.Clean(h.Name), perm)
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		return x.writeFile(to, name, content, perm, h.ModTime)
	case tar.TypeSymlink:
		return makeLink(to, name, path.Clean(h.Name), h.Linkname)
	case tar.TypeLink:
		return x.makeHardLink(to, name, h)
	case tar.TypeChar, tar.TypeBlock:
		return special("is a device")
	case tar.TypeFifo:
		return special("is a pipe")
	}
	return special(fmt.Sprintf("is of a type %q that cannot be copied", h.Typeflag))
}

func (x *unpacker) makeDir(to *os.Root, name, full string, perm fs.FileMode) error {
	info, err := to.Lstat(name)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return inTheWay("is a directory in the machine and none here")
	}
	if err := to.Mkdir(name, 0o700); err != nil {
		return err
	}
	if perm&0o700 != 0o700 {
		x.closed = append(x.closed, closedDir{full, perm})
		return nil
	}
	return to.Chmod(name, perm)
}

// free makes sure that no directory has the name that a file is to have.
func free(to *os.Root, name string) (exists bool, err error) {
	info, err := to.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil && info.IsDir():
		return false, inTheWay("is no directory in the machine and one here")
	}
	return true, err
}

// writeFile writes a file beside its name and then moves it there.
func (x *unpacker) writeFile(to *os.Root, name string, content io.Reader, perm fs.FileMode, when time.Time) (err error) {
	if _, err := free(to, name); err != nil {
		return err
	}
	temp := ".smol-" + randhex.String(8)
	f, err := to.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // it may be closed; the file goes anyway
			_ = to.Remove(temp)
		}
	}()
	if _, err := io.CopyBuffer(struct{ io.Writer }{f}, content, x.buf); err != nil {
		return err
	}
	if err := f.Chmod(perm); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := to.Chtimes(temp, time.Time{}, when); err != nil {
		return err
	}
	return to.Rename(temp, name)
}

// makeLink makes a symbolic link. Those that do not provably stay below root are refused: whoever reads the copy would follow them. Without
// symbolic links on the way to a link, its leading ".." go up from where it lies; a later ".." may follow a link and go up anywhere.
func makeLink(to *os.Root, name, full, target string) error {
	up, down := 0, false
	for elem := range strings.SplitSeq(target, "/") {
		switch elem {
		case "..":
			if down {
				return special(fmt.Sprintf("is a link to %q, which may lead out of the directory", target))
			}
			up++
		case "", ".":
		default:
			down = true
		}
	}
	if target == "" || path.IsAbs(target) || up > strings.Count(full, "/") ||
		filepath.Separator != '/' && (filepath.VolumeName(target) != "" || strings.ContainsRune(target, filepath.Separator)) {
		return special(fmt.Sprintf("is a link to %q, which leads out of the directory", target))
	}
	exists, err := free(to, name)
	if err == nil && exists {
		err = to.Remove(name)
	}
	if err != nil {
		return err
	}
	return to.Symlink(target, name)
}

// makeHardLink links to a file of the same archive, or copies it where the host cannot.
func (x *unpacker) makeHardLink(to *os.Root, name string, h *tar.Header) error {
	old, err := localName(h.Linkname)
	if err != nil {
		return err
	}
	info, err := x.root.Lstat(old)
	if err != nil || !info.Mode().IsRegular() {
		return &problem{code: CodeInvalid, text: fmt.Sprintf("is a hard link to %q, which has not been copied", old)}
	}
	exists, err := free(to, name)
	if err == nil && exists {
		if same, _ := to.Lstat(name); os.SameFile(info, same) {
			return nil
		}
		err = to.Remove(name)
	}
	if err != nil {
		return err
	}
	if x.root.Link(old, path.Clean(h.Name)) == nil {
		return nil
	}
	f, err := x.root.Open(old)
	if err != nil {
		return err
	}
	defer f.Close()
	return x.writeFile(to, name, struct{ io.Reader }{f}, info.Mode().Perm(), info.ModTime())
}

// finish gives directories the modes that would have been in the way, and sums up. err is why the copying ended early, or nil.
func (x *unpacker) finish(err error) error {
	for _, d := range slices.Backward(x.closed) {
		if failed := x.root.Chmod(d.name, d.mode); err == nil {
			err = failed
		}
	}
	var e *Error
	switch {
	case err == nil && x.left == 0:
		return nil
	case err == nil:
		return &Error{Code: x.code, Message: x.summary(), Hint: "set CopyOptions.SkipSpecial to leave out what cannot be copied"}
	case isContextError(err):
		return err
	case errors.As(err, &e):
		sum := *e
		if sum.Message == "" && sum.Err != nil {
			sum.Message = plainText(sum.Err)
		}
		sum.Message += "; " + x.summary()
		return &sum
	case errors.Is(err, fs.ErrPermission):
		return &Error{Code: CodePermissionDenied, Message: err.Error() + "; " + x.summary(), Err: err}
	}
	return &Error{Code: CodeUnknown, Message: err.Error() + "; " + x.summary(), Err: err}
}

func (x *unpacker) summary() string {
	text := fmt.Sprintf("%d files and directories were copied", x.copied)
	if x.left > 0 {
		text += fmt.Sprintf(", and %d not: %s", x.left, strings.Join(x.problems, "; "))
	}
	if more := x.left - len(x.problems); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
