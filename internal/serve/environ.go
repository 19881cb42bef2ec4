package serve

import (
	"slices"
	"strings"
)

// kept are the variables that the serve is given. It has no use for others, and some are secrets.
var kept = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"}

// keptOnWindows is without what no program starts there, or finds its user's files.
var keptOnWindows = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA",
	"LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
}

// secret are the ends of names that are never passed on, whatever they begin with.
var secret = []string{"TOKEN", "SECRET", "PASSWORD", "API_KEY", "CREDENTIAL", "CREDENTIALS"}

// minimal chooses from env, which is as os.Environ gives it, what a serve on goos is given.
func minimal(env []string, goos string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, ok := strings.Cut(entry, "=")
		upper := strings.ToUpper(name)
		if goos == "windows" {
			name = upper // the system tells no case
		}
		switch {
		case !ok || name == "" || strings.Contains(entry, "\x00"):
			return true
		case slices.ContainsFunc(secret, func(end string) bool { return strings.HasSuffix(upper, end) }):
			return true
		case slices.Contains(kept, name), strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "SMOLVM_"):
			return false
		}
		return goos != "windows" || !slices.Contains(keptOnWindows, name)
	})
}

// lookup returns the value that counts of a variable in env: the last one.
func lookup(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
