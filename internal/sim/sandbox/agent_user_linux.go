package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/smol-machines/smol-go/internal/sim"
)

// identityRange is which ids exist in the machine.
type identityRange struct{ uids, gids []idRange }

func readIdentityRange() (r identityRange, err error) {
	if r.uids, err = readIDs("/proc/self/uid_map"); err != nil {
		return r, err
	}
	r.gids, err = readIDs("/proc/self/gid_map")
	return r, err
}

func (r identityRange) has(uid, gid uint32) bool {
	return contains(r.uids, uid) && contains(r.gids, gid)
}

func contains(ids []idRange, id uint32) bool {
	for _, r := range ids {
		if int64(id) >= r.first && int64(id) < r.first+r.size {
			return true
		}
	}
	return false
}

// credential is that of a user by name or by uid[:gid]; nil is root, which the agent is already.
func (r identityRange) credential(user string) (*syscall.Credential, error) {
	if user == "" || user == "root" || user == "0" || user == "0:0" {
		return nil, nil
	}
	cred, err := findUser(user)
	if err != nil {
		return nil, fmt.Errorf("user %q: %w: %w", user, sim.ErrNoUser, err)
	}
	if !r.has(cred.Uid, cred.Gid) {
		return nil, fmt.Errorf("user %q: %w: id %d:%d does not exist in this machine", user, sim.ErrNoUser, cred.Uid, cred.Gid)
	}
	groups := cred.Groups[:0]
	for _, g := range cred.Groups {
		if contains(r.gids, g) {
			groups = append(groups, g)
		}
	}
	cred.Groups = groups
	// A namespace of one id is not allowed to drop groups.
	cred.NoSetGroups = len(r.gids) == 1 && r.gids[0].size == 1
	return cred, nil
}

// findUser resolves a user with the machine's own /etc/passwd and /etc/group.
func findUser(user string) (*syscall.Credential, error) {
	name, group, hasGroup := strings.Cut(user, ":")
	cred := &syscall.Credential{}
	entry := lookUp("/etc/passwd", name, 7)
	uid, err := parseID(name)
	switch {
	case entry != nil:
		if uid, err = parseID(entry[2]); err != nil {
			return nil, err
		}
		if cred.Gid, err = parseID(entry[3]); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, fmt.Errorf("not in /etc/passwd")
	}
	cred.Uid = uid
	if hasGroup {
		cred.Gid, err = findGroup(group)
		return cred, err
	}
	if entry != nil {
		cred.Groups = groupsOf(entry[0])
	}
	return cred, nil
}

func findGroup(group string) (uint32, error) {
	if entry := lookUp("/etc/group", group, 4); entry != nil {
		return parseID(entry[2])
	}
	gid, err := parseID(group)
	if err != nil {
		return 0, fmt.Errorf("group %q is not in /etc/group", group)
	}
	return gid, nil
}

// groupsOf returns the groups that list the user as a member.
func groupsOf(name string) (gids []uint32) {
	eachLine("/etc/group", func(fields []string) bool {
		if len(fields) >= 4 {
			for member := range strings.SplitSeq(fields[3], ",") {
				if gid, err := parseID(fields[2]); err == nil && member == name {
					gids = append(gids, gid)
				}
			}
		}
		return true
	})
	return gids
}

// lookUp returns the line of a file like /etc/passwd that has the name, or else the number, as its key.
func lookUp(file, key string, fields int) (entry []string) {
	var byNumber []string
	eachLine(file, func(line []string) bool {
		if len(line) >= fields && line[0] == key {
			entry = line
		} else if len(line) >= fields && line[2] == key && byNumber == nil {
			byNumber = line
		}
		return entry == nil
	})
	if entry == nil {
		return byNumber
	}
	return entry
}

// eachLine calls f with each line of a file as passwd(5) describes it, until f says no.
func eachLine(file string, f func(fields []string) bool) {
	fi, err := os.Stat(file)
	if err != nil || !fi.Mode().IsRegular() {
		return
	}
	r, err := os.Open(file)
	if err != nil {
		return
	}
	defer r.Close()
	lines := bufio.NewScanner(r)
	for lines.Scan() && f(strings.Split(lines.Text(), ":")) {
	}
	_ = lines.Err() // what cannot be read names nobody, as a file that is not there
}

func parseID(s string) (uint32, error) {
	id, err := strconv.ParseUint(s, 10, 32)
	return uint32(id), err
}
