package guest

import (
	"slices"
	"strings"
)

// A fragment is a piece of sh that the runner reads in the process that becomes the command, just before it does: lines
// that set variables, and maybe the argv. It travels in an argument or as a file, and one lies in the base for what is stored.
const (
	lineExport = "export "
	lineExtra  = `_jextra="$_jextra "`
	linePath   = "_jpath="
	lineDir    = "_jwd="
	lineArgv   = "set --"
)

// shellNames are variables that a shell changes, refuses or is changed by when they are set in it: the command gets them from
// env(1). The LD_ ones would work on our own programs.
var shellNames = []string{
	"_", "COMP_WORDBREAKS", "COPROC", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "EXECIGNORE", "FUNCNAME", "FUNCNEST",
	"GLOBIGNORE", "GROUPS", "HISTCMD", "IFS", "LINENO", "OLDPWD", "OPTARG", "OPTERR", "OPTIND", "PIPESTATUS", "POSIXLY_CORRECT", "PPID",
	"PWD", "RANDOM", "SECONDS", "SHELLOPTS", "SHLVL", "SRANDOM", "UID",
}

var shellPrefixes = []string{"_j", "BASH", "LD_"}

func isShellName(name string) bool {
	return slices.Contains(shellNames, name) ||
		slices.ContainsFunc(shellPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// envFragment sets the variables of env. A later one of a name wins.
func envFragment(env []string) string {
	var b strings.Builder
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH": // ours is needed up to the last step
			b.WriteString(linePath + quote(value))
		case isShellName(name):
			b.WriteString(lineExtra + quote(quote(kv)))
		default:
			b.WriteString(lineExport + name + "=" + quote(value))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func argvFragment(argv []string) string {
	var b strings.Builder
	b.WriteString(lineArgv)
	for _, a := range argv {
		b.WriteString(" " + quote(a))
	}
	b.WriteByte('\n')
	return b.String()
}

func dirFragment(dir string) string { return lineDir + quote(dir) + "\n" }

// fragment is what a fragment says.
type fragment struct {
	env, argv []string
	dir       string
}

func parseFragment(s string) (f fragment, ok bool) {
	for s != "" {
		if s, ok = f.line(s); !ok {
			return f, false
		}
		if s, ok = strings.CutPrefix(s, "\n"); !ok {
			return f, false
		}
	}
	return f, true
}

// line reads one line up to its end.
func (f *fragment) line(s string) (rest string, ok bool) {
	if rest, ok := strings.CutPrefix(s, lineArgv); ok {
		return f.words(rest)
	}
	name, value, _ := strings.Cut(s, "=")
	switch name {
	case "_jpath":
		value, rest, ok = unquote(value)
		f.env = append(f.env, "PATH="+value)
	case "_jwd":
		f.dir, rest, ok = unquote(value)
	case "_jextra":
		value, rest, ok = unquote(strings.TrimPrefix(s, lineExtra))
		kv, left, inner := unquote(value)
		ok = ok && inner && left == ""
		f.env = append(f.env, kv)
	default:
		name, ok = strings.CutPrefix(name, lineExport)
		if !ok || checkEnvName(name) != nil {
			return "", false
		}
		value, rest, ok = unquote(value)
		f.env = append(f.env, name+"="+value)
	}
	return rest, ok
}

func (f *fragment) words(s string) (rest string, ok bool) {
	for {
		after, more := strings.CutPrefix(s, " ")
		if !more {
			return s, true
		}
		var word string
		if word, s, more = unquote(after); !more {
			return "", false
		}
		f.argv = append(f.argv, word)
	}
}
