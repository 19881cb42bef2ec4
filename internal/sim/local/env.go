package local

import "github.com/smol-machines/smol-go/internal/sim/environ"

// agentEnv is the environment of the agent of a bare machine, which its commands inherit.
func agentEnv() []string {
	return []string{environ.Home, environ.Path, environ.Term, "SMOLVM_AGENT=1"}
}

// runEnv is what the commands of a throw-away container see; the image's environment does not get there.
func runEnv() []string { return []string{environ.Path, environ.Term, environ.Home} }
