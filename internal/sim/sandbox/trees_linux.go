package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// firstTree is the descriptor that the first of the trees has in the child, after the listener.
const firstTree = listenerFD + 1

// openTrees makes mounts of the directories that the machine's ids may not be able to reach by name. Root on the host can do that;
// such a mount is not attached anywhere and so may be passed on, unlike an open directory.
func (k *booting) openTrees() error {
	if !k.id.root {
		return nil // there root of the machine is who we are, and can reach what we can
	}
	for _, b := range k.privateBinds() {
		fd, err := openTree(unix.AT_FDCWD, b.Source, 0)
		if errors.Is(err, unix.EPERM) {
			continue // a root with few capabilities, in a container perhaps; the set-up will try by name
		}
		if err != nil {
			return fmt.Errorf("%s: %w", b.Source, err)
		}
		b.File = firstTree + len(k.trees)
		k.trees = append(k.trees, os.NewFile(uintptr(fd), b.Source))
	}
	return nil
}

func (k *booting) privateBinds() (binds []*bind) {
	for _, list := range [][]bind{k.Binds, k.Mounts} {
		for i := range list {
			if list[i].Private {
				binds = append(binds, &list[i])
			}
		}
	}
	return binds
}

// mapTrees shows the files of those mounts with the owners that they have on the host, translated to the machine's ids.
func (k *booting) mapTrees() error {
	if len(k.trees) == 0 {
		return nil
	}
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", k.process.pid))
	if err != nil {
		return err
	}
	defer ns.Close()
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(ns.Fd())}
	for _, b := range k.privateBinds() {
		if b.File == 0 {
			continue
		}
		tree := k.trees[b.File-firstTree]
		if err := setAttr(int(tree.Fd()), &attr); err != nil {
			b.Note = "its file system cannot translate owners (" + err.Error() + "), they are nobody here"
		}
	}
	return nil
}
