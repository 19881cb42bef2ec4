package private

import (
	"fmt"
	"slices"
	"strings"
)

// Windows writes who may do what with a file as O:owner, G:group, D:flags(type;flags;rights;object;inherited object;who)...

// privateSDDL describes a directory that the user and the system can use, and nobody else.
func privateSDDL(sid string) string {
	return "O:" + sid + "D:P(A;OICI;FA;;;" + sid + ")(A;OICI;FA;;;SY)"
}

// checkSDDL reports why a directory so described is not one of this user alone. Administrators, as root elsewhere, can read everything
// anyway, and own what they make.
func checkSDDL(sddl, sid string) error {
	trusted := []string{sid, "SY", "S-1-5-18", "BA", "S-1-5-32-544", "OW", "CO"}
	owner, rest, ok := section(sddl, "O:")
	if !ok || !slices.Contains([]string{sid, "BA", "S-1-5-32-544"}, owner) {
		return fmt.Errorf("its owner is %.100q", owner)
	}
	_, dacl, ok := strings.Cut(rest, "D:")
	if !ok || strings.HasPrefix(dacl, "NO_ACCESS_CONTROL") {
		return fmt.Errorf("it has no access list")
	}
	dacl, _, _ = strings.Cut(dacl, "S:")
	_, entries, _ := strings.Cut(dacl, "(")
	for entry := range strings.SplitSeq(entries, "(") {
		if entry == "" {
			continue
		}
		fields := strings.Split(strings.TrimSuffix(entry, ")"), ";")
		if len(fields) < 6 {
			return fmt.Errorf("its access list has %.100q", entry)
		}
		if fields[0] != "D" && !slices.Contains(trusted, fields[5]) {
			return fmt.Errorf("%s has access", fields[5])
		}
	}
	return nil
}

// section returns what follows name, up to the next section, and the rest.
func section(sddl, name string) (value, rest string, ok bool) {
	_, after, ok := strings.Cut(sddl, name)
	for i := 0; i+1 < len(after); i++ {
		if after[i+1] == ':' {
			return after[:i], after[i:], ok
		}
	}
	return after, "", ok
}
