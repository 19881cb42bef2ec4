//go:build !windows

package script

import (
	"io/fs"
	"os"
)

// modes is empty: the host's file system keeps the modes of files.
type modes struct{}

func openModes(string) (*modes, error) { return nil, nil }

func copyModes(string, string) error { return nil }

func (*modes) save() error { return nil }

func (*modes) info(_ place, fi fs.FileInfo, err error) (fs.FileInfo, error) { return fi, err }

func (*modes) opened(_ place, f *os.File) fs.ReadDirFile { return f }

// making returns what is to be called when the file or directory, and with parents those above it, have been made.
func (*modes) making(place, fs.FileMode, bool) func() { return func() {} }

func (*modes) chmod(p place, perm fs.FileMode) error { return p.root.Chmod(p.rel, perm) }

func (*modes) linked(_, _ place) {}

func (*modes) renamed(_, _ place) {}

func (*modes) removed(place) {}
