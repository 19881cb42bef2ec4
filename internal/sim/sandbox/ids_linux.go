package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Where the ids of machines lie on the host when the program runs as root, as far as they are there.
const (
	idBase = 100000
	idSize = 65536
)

// identity is how the ids of machines map to those of the host.
type identity struct {
	uid, gid syscall.SysProcIDMap
	// root: the program runs as root, and machines have a range of ids instead of one.
	root bool
}

// currentIdentity chooses the map for this process.
func currentIdentity() (identity, error) {
	uids, err := readIDs("/proc/self/uid_map")
	if err != nil {
		return identity{}, err
	}
	gids, err := readIDs("/proc/self/gid_map")
	if err != nil {
		return identity{}, err
	}
	return chooseIdentity(os.Geteuid(), os.Getegid(), uids, gids), nil
}

func chooseIdentity(euid, egid int, uids, gids []idRange) identity {
	if euid != 0 {
		return identity{
			uid: syscall.SysProcIDMap{HostID: euid, Size: 1},
			gid: syscall.SysProcIDMap{HostID: egid, Size: 1},
		}
	}
	id := identity{uid: chooseIDs(uids), gid: chooseIDs(gids)}
	// Root of a namespace with a single id can do no more than an ordinary user.
	id.root = id.uid.Size > 1 && id.gid.Size > 1
	if !id.root {
		id.uid.Size, id.gid.Size = 1, 1
	}
	return id
}

// chooseIDs picks a range that does not contain root. The files below /proc/sys ask for the global user 0, not for a
// capability, so a root that is another user cannot change the host through them.
func chooseIDs(have []idRange) syscall.SysProcIDMap {
	best := syscall.SysProcIDMap{Size: 1}
	for _, r := range have {
		if r.first <= idBase && r.first+r.size >= idBase+idSize {
			return syscall.SysProcIDMap{HostID: idBase, Size: idSize}
		}
		if half := r.size / 2; half >= int64(best.Size) && half > 0 {
			size := min(half, idSize)
			best = syscall.SysProcIDMap{HostID: int(r.first + r.size - size), Size: int(size)}
		}
	}
	return best // in a namespace with the one id 0 that is it, and it is not the global root either
}

// idRange is a range of ids that exist in this user namespace.
type idRange struct{ first, size int64 }

func readIDs(file string) ([]idRange, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseIDs(f)
}

// parseIDs reads a uid_map or gid_map: lines of first id inside, first id outside, and size.
func parseIDs(r io.Reader) (ids []idRange, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var id idRange
		var outside int64
		if _, err := fmt.Sscan(lines.Text(), &id.first, &outside, &id.size); err != nil {
			return nil, fmt.Errorf("id map %q: %w", lines.Text(), err)
		}
		if id.first < 0 || id.size < 1 {
			return nil, fmt.Errorf("id map %q: not a range", lines.Text())
		}
		ids = append(ids, id)
	}
	return ids, lines.Err()
}
