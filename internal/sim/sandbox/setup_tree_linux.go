package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// tree fills the machine's root: what the image is made of, the files of /etc that are the machine's own, and the caller's
// directories.
func (s *setup) tree() {
	for _, l := range s.Links {
		s.do("link "+l.Path, func() error { return linkUnlessThere(l.To, l.Path) })
	}
	for _, b := range s.Binds {
		s.hostBind(&b)
	}
	for _, p := range s.Programs {
		s.do("copy "+p.Target, func() error { return s.install(&p) })
	}
	s.etc()
	for _, b := range s.Mounts {
		s.hostBind(&b)
	}
}

// hostBind shows a file or directory of the host, making what it is mounted on.
func (s *setup) hostBind(b *bind) {
	s.do("make "+b.Target, func() error { return s.mountPoint(b) })
	s.bind(b.Source, b.Target, s.hostTree(b))
	if b.Note != "" && s.failed == nil {
		s.say("mount " + b.Target + ": " + b.Note)
	}
}

// mountPoint makes a file or a directory to mount on, unless it exists.
func (s *setup) mountPoint(b *bind) error {
	var st unix.Stat_t
	var err error
	if b.File != 0 {
		err = unix.Fstatat(b.File, "", &st, unix.AT_EMPTY_PATH)
	} else {
		err = unix.Fstatat(s.host, strings.TrimPrefix(b.Source, "/"), &st, 0)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", b.Source, err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return makeDir(b.Target, 0o755)
	}
	if _, err := os.Stat(b.Target); err == nil {
		return nil
	}
	if err := os.MkdirAll(path.Dir(b.Target), 0o755); err != nil {
		return err
	}
	return writeUnlessThere(b.Target, "")
}

// etc writes the files that name the machine and its users. Those that users of the machine may have changed stay.
func (s *setup) etc() {
	s.do("write /etc", func() error {
		hosts := "127.0.0.1\tlocalhost\n::1\tlocalhost\n127.0.1.1\t" + s.Hostname + "\n"
		return errors.Join(
			writeFile("/etc/hostname", s.Hostname+"\n"),
			writeFile("/etc/hosts", hosts),
			writeUnlessThere("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"+
				"daemon:x:1:1:daemon:/usr/sbin:/bin/false\n"+
				"nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"),
			writeUnlessThere("/etc/group", "root:x:0:\ndaemon:x:1:\nnogroup:x:65534:\n"),
			writeUnlessThere("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
			writeUnlessThere("/etc/resolv.conf", "# There is no way out of this machine.\n"),
		)
	})
}

// install copies a program of the host into the machine, unless it has it: then it may have been changed on purpose.
func (s *setup) install(p *program) error {
	if _, err := os.Lstat(p.Target); err == nil {
		return nil
	}
	in, err := s.openHost(p.Source)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(path.Dir(p.Target), 0o755); err != nil {
		return err
	}
	if err := replace(p.Target, 0o755, func(w *os.File) error { _, err := io.Copy(w, in); return err }); err != nil {
		return err
	}
	for _, name := range p.Names {
		if err := os.Link(p.Target, name); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

func linkUnlessThere(to, name string) error {
	err := os.Symlink(to, name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		err = os.Symlink(to, name)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func writeUnlessThere(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// writeFile writes a file whatever is there. Opening what a guest left could hang on a FIFO.
func writeFile(name, text string) error {
	if _, err := os.Lstat(name); err != nil {
		return writeUnlessThere(name, text)
	}
	return replace(name, 0o644, func(w *os.File) error { _, err := w.WriteString(text); return err })
}

// replace puts a new file in the place of name.
func replace(name string, mode os.FileMode, write func(*os.File) error) error {
	f, err := os.CreateTemp(path.Dir(name), ".smol-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
