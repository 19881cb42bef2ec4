package local

import (
	"strings"

	"github.com/smol-machines/smol-go/internal/sim"
)

const (
	defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	defaultHome = "HOME=/root"
	defaultTerm = "TERM=xterm-256color"
)

// config is what the machine's image says of its commands.
func config(inst sim.Instance) sim.Config {
	if c, ok := inst.(sim.Configured); ok {
		return c.Config()
	}
	return sim.Config{}
}

// agentEnv is the environment of the agent of a bare machine, which its commands inherit.
func agentEnv() []string { return []string{defaultHome, defaultPath, defaultTerm, "SMOLVM_AGENT=1"} }

// imageEnv is what commands of an image machine see: the image's, with what is missing filled in.
func imageEnv(c sim.Config) []string {
	env := append([]string{}, c.Env...)
	for _, def := range []string{defaultPath, defaultHome} {
		if !has(env, def) {
			env = append(env, def)
		}
	}
	return env
}

// runEnv is what the commands of a throw-away container see; the image's environment does not get there.
func runEnv() []string { return []string{defaultPath, defaultTerm, defaultHome} }

// has reports whether env sets the variable that def sets.
func has(env []string, def string) bool {
	name, _, _ := strings.Cut(def, "=")
	for _, e := range env {
		if strings.HasPrefix(e, name+"=") {
			return true
		}
	}
	return false
}

// overlay puts the variables of top over those of env.
func overlay(env, top []string) []string {
	var out []string
	for _, e := range env {
		if !has(top, e) {
			out = append(out, e)
		}
	}
	seen := map[string]int{}
	for _, e := range top { // of a name given twice the last counts
		name, _, _ := strings.Cut(e, "=")
		if i, again := seen[name]; again {
			out[i] = e
			continue
		}
		seen[name] = len(out)
		out = append(out, e)
	}
	return out
}
