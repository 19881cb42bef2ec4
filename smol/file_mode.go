package smol

import "io/fs"

// specialBits are the bits of a mode on Linux beyond permissions, in both notations.
var specialBits = []struct {
	mode fs.FileMode
	bit  int
}{{fs.ModeSetuid, 0o4000}, {fs.ModeSetgid, 0o2000}, {fs.ModeSticky, 0o1000}}

// fileTypes are the types of files on Linux.
var fileTypes = map[uint32]fs.FileMode{
	0o010000: fs.ModeNamedPipe,
	0o020000: fs.ModeDevice | fs.ModeCharDevice,
	0o040000: fs.ModeDir,
	0o060000: fs.ModeDevice,
	0o100000: 0,
	0o120000: fs.ModeSymlink,
	0o140000: fs.ModeSocket,
}

// fileMode translates st_mode of Linux.
func fileMode(st uint32) fs.FileMode {
	mode, known := fileTypes[st&0o170000]
	if !known {
		mode = fs.ModeIrregular
	}
	for _, s := range specialBits {
		if st&uint32(s.bit) != 0 {
			mode |= s.mode
		}
	}
	return mode | fs.FileMode(st)&fs.ModePerm
}

// modeBits translates a mode to what chmod takes.
func modeBits(field string, mode fs.FileMode) (int, error) {
	bits := int(mode.Perm())
	for _, s := range specialBits {
		if mode&s.mode != 0 {
			bits |= s.bit
			mode &^= s.mode
		}
	}
	if mode&^fs.ModePerm != 0 {
		return 0, invalidf(field, "%v has more than permissions, fs.ModeSetuid, fs.ModeSetgid and fs.ModeSticky", mode)
	}
	return bits, nil
}
