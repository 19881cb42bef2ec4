package smol

import (
	"slices"
	"sync"
)

// maxAcks is how many finished commands one start lets go of.
const maxAcks = 16

// guestState is what a handle knows about the inside of its machine.
type guestState struct {
	// env and dir are what the machine was created with, for calls that do not go through the runner. They do not change.
	env map[string]string
	dir string

	mu      sync.Mutex
	noShell error    // why the runner cannot be used, once that is sure
	acks    []string // commands whose output has been read and whose files may go
}

// defaults returns the environment and directory for a command that does not go through the runner.
func (g *guestState) defaults() (env []string, dir string) {
	for _, name := range sortedKeys(g.env) {
		env = append(env, name+"="+g.env[name])
	}
	return env, g.dir
}

// ack notes that nothing more is wanted of a command. Its files go with the next start, at no extra call.
func (g *guestState) ack(id string) { g.giveBackAcks([]string{id}) }

func (g *guestState) takeAcks() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.acks), maxAcks)
	taken := slices.Clone(g.acks[:n])
	g.acks = slices.Delete(g.acks, 0, n)
	return taken
}

func (g *guestState) giveBackAcks(ids []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.acks = append(g.acks, ids...)
	// The machine itself drops old ones.
	g.acks = slices.Delete(g.acks, 0, max(0, len(g.acks)-64))
}

func (g *guestState) shell() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.noShell
}

func (g *guestState) setNoShell(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.noShell = err
}
