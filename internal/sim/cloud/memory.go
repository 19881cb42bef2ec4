package cloud

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// inMemory are the directories of a machine that are lost when it stops.
var inMemory = []string{"/tmp", "/run", "/dev/shm"}

func isInMemory(p string) bool {
	for _, dir := range inMemory {
		if p == dir || strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}

// maxLinks is how many symbolic links a path may lead through.
const maxLinks = 40

// strays reports whether a path outside of memory leads through symbolic links to one that is in memory. It follows them in the machine's disks,
// as the machine would.
func (s *Server) strays(id, name string) bool {
	name = path.Clean(name)
	return !isInMemory(name) && isInMemory(follow(s.store.Guest(id), name))
}

// follow returns where a path of the machine whose disks are in dir leads.
func follow(dir, name string) string {
	rest, at := strings.Split(strings.Trim(name, "/"), "/"), "/"
	for links := 0; len(rest) > 0 && links < maxLinks && !isInMemory(at); {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(onDisk(dir, next))
		if err != nil { // no link, or not there
			at = next
			continue
		}
		links++
		if !path.IsAbs(target) {
			target = path.Join(at, target)
		}
		rest = append(strings.Split(strings.Trim(path.Clean(target), "/"), "/"), rest...)
		at = "/"
	}
	return path.Join(append([]string{at}, rest...)...)
}

// onDisk is where the host has a path of the machine.
func onDisk(dir, name string) string {
	if sub, ok := strings.CutPrefix(name, "/workspace/"); ok {
		if own := filepath.Join(dir, "workspace"); exists(own) {
			return filepath.Join(own, filepath.FromSlash(sub))
		}
	}
	return filepath.Join(dir, "root", filepath.FromSlash(name))
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
