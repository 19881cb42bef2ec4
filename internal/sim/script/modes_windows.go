package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/smol-machines/smol-go/internal/private"
)

const (
	// settable is what chmod can set.
	settable = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	// umask is taken from the modes that files are made with; elsewhere the process has one.
	umask = 0o022
)

// modes are the modes of the files of a tree, which Windows does not keep. They lie in a file beside the tree while it is closed. What
// is not in them has the mode of a file that a machine makes.
type modes struct {
	file string

	mu sync.Mutex
	m  map[string]fs.FileMode // by path in the machine, in lower case as the host takes them
}

// modesFile is where the modes of the tree below dir are kept.
func modesFile(dir string) string { return filepath.Clean(dir) + ".modes" }

func openModes(dir string) (*modes, error) {
	m := &modes{file: modesFile(dir), m: map[string]fs.FileMode{}}
	b, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &m.m)
	}
	if err != nil {
		return nil, fmt.Errorf("the modes of the files in %s: %w", dir, err)
	}
	return m, nil
}

// copyModes copies what is written down about the tree below src to dst.
func copyModes(dst, src string) error {
	b, err := os.ReadFile(modesFile(src))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return private.Replace(modesFile(dst), b)
}

// save writes the modes down, unless the tree has been deleted with what it lay in.
func (m *modes) save() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := json.Marshal(m.m)
	if err != nil {
		return err
	}
	err = private.Replace(m.file, b)
	if _, gone := os.Stat(filepath.Dir(m.file)); errors.Is(gone, fs.ErrNotExist) {
		return nil
	}
	return err
}

// modeInfo is a file with the name and mode that its machine knows.
type modeInfo struct {
	fs.FileInfo
	mode fs.FileMode
}

func (i *modeInfo) Name() string { return guestName(i.FileInfo.Name()) }

func (i *modeInfo) Mode() fs.FileMode { return i.mode }

func (m *modes) info(p place, fi fs.FileInfo, err error) (fs.FileInfo, error) {
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() && !fi.Mode().IsRegular() {
		return &modeInfo{fi, fi.Mode()}, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	mode, known := m.m[key(p)]
	switch {
	case known:
	case fi.IsDir():
		mode = 0o755
	default:
		mode = 0o644 & (fi.Mode() | 0o133) // the host's files can be read-only
	}
	return &modeInfo{fi, fi.Mode().Type() | mode}, nil
}

// modeFile is an open file that tells of names and modes as its machine does.
type modeFile struct {
	*os.File
	at    place
	modes *modes
}

func (m *modes) opened(p place, f *os.File) fs.ReadDirFile { return &modeFile{f, p, m} }

func (f *modeFile) Stat() (fs.FileInfo, error) {
	fi, err := f.File.Stat()
	return f.modes.info(f.at, fi, err)
}

func (f *modeFile) ReadDir(n int) ([]fs.DirEntry, error) {
	entries, err := f.File.ReadDir(n)
	for k, e := range entries {
		at := f.at
		at.at = path.Join(at.at, guestName(e.Name()))
		fi, err := e.Info()
		if fi, err = f.modes.info(at, fi, err); err != nil {
			return nil, err
		}
		entries[k] = fs.FileInfoToDirEntry(fi)
	}
	return entries, err
}

func (m *modes) making(p place, perm fs.FileMode, parents bool) func() {
	var made []string
	for at, rel := p.at, p.rel; ; at, rel = path.Dir(at), filepath.Dir(rel) {
		if _, err := p.root.Lstat(rel); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, strings.ToLower(at))
		if !parents || rel == "." {
			break
		}
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, at := range made {
			m.m[at] = perm & settable &^ umask
		}
	}
}

// chmod leaves the host's file alone: a file that is read-only there could not even be written by root.
func (m *modes) chmod(p place, perm fs.FileMode) error {
	if _, err := p.root.Lstat(p.rel); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.m[key(p)] = perm & settable
	return nil
}

// linked gives another name of a file its mode; if one is changed later, the other does not follow.
func (m *modes) linked(from, to place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mode, known := m.m[key(from)]; known {
		m.m[key(to)] = mode
	}
}

func (m *modes) renamed(from, to place) {
	if key(from) == key(to) {
		return
	}
	m.removed(to)
	m.mu.Lock()
	defer m.mu.Unlock()
	for at, mode := range maps.Clone(m.m) {
		if rest, ok := below(at, key(from)); ok {
			delete(m.m, at)
			m.m[key(to)+rest] = mode
		}
	}
}

func (m *modes) removed(p place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.m, func(at string, _ fs.FileMode) bool {
		_, ok := below(at, key(p))
		return ok
	})
}

func key(p place) string { return strings.ToLower(p.at) }

// below is what follows dir in at, which is dir or something in it.
func below(at, dir string) (string, bool) {
	rest, ok := strings.CutPrefix(at, dir)
	return rest, ok && (rest == "" || rest[0] == '/')
}
