// Package environ makes the environments of commands: NAME=value, later names over earlier ones.
package environ

import (
	"strings"

	"github.com/smol-machines/smol-go/internal/sim"
)

// What a command sees where nothing else says so.
const (
	// Path and Home are in every environment.
	Path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	Home = "HOME=/root"
	// Term is in that of terminals and of bare machines.
	Term = "TERM=xterm-256color"
)

// Config is what the machine's image says of its commands.
func Config(inst sim.Instance) sim.Config {
	if c, ok := inst.(sim.Configured); ok {
		return c.Config()
	}
	return sim.Config{}
}

// Image is what commands of an image machine see: the image's environment, with what is missing filled in.
func Image(c sim.Config) []string {
	env := append([]string{}, c.Env...)
	for _, def := range []string{Path, Home} {
		if !has(env, def) {
			env = append(env, def)
		}
	}
	return env
}

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

// Overlay puts the variables of top over those of env.
func Overlay(env, top []string) []string {
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
