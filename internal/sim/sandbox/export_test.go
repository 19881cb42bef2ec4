//go:build linux

package sandbox

import (
	"bytes"
	"net"
	"strings"
	"syscall"
)

// FailAt returns a guest that fails at the named step.
func FailAt(step string) *Guest {
	g := New(nil)
	g.failAt = step
	return g
}

// DialAgent connects to the agent of the machine in dir.
func DialAgent(dir string) (*net.UnixConn, error) {
	s, err := openState(dir)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.dial()
}

// IDRange is a line of an id map.
type IDRange struct{ First, Size int64 }

// ChooseIdentity returns the ranges that machines get in a process with these ids and maps, and whether it counts as root.
func ChooseIdentity(euid, egid int, uids, gids []IDRange) (uid, gid syscall.SysProcIDMap, root bool) {
	id := chooseIdentity(euid, egid, toRanges(uids), toRanges(gids))
	return id.uid, id.gid, id.root
}

func toRanges(in []IDRange) (out []idRange) {
	for _, r := range in {
		out = append(out, idRange{first: r.First, size: r.Size})
	}
	return out
}

// ParseIDRanges reads an id map.
func ParseIDRanges(text string) (out []IDRange, err error) {
	ids, err := parseIDs(strings.NewReader(text))
	for _, r := range ids {
		out = append(out, IDRange{First: r.first, Size: r.size})
	}
	return out, err
}

// Seams for tests.
var (
	Remedy      = remedy
	CheckStatic = checkStatic
	Hostname    = hostname
)

// MaxFrame is the longest message.
const MaxFrame = maxFrame

// KindOf names what an image is made of.
func KindOf(image string) (string, error) {
	k, shell, err := chooseKind(image)
	if err != nil {
		return "", err
	}
	return [...]string{"host", "go", "shell " + shell, "busybox", "no shell"}[k], nil
}

// IsRequest decodes a message as the agent does.
func IsRequest(head [4]byte, body []byte) error {
	var req request
	return readBody(bytes.NewReader(body), head, &req)
}

// WireError sends an error to the other side and back.
func WireError(err error) error { return toWire(err).err() }
