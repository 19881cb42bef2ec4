package mcpserver_test

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// memory is a fleet that only knows which machines there are, for tests of time.
type memory struct {
	deadBackend
	mu       sync.Mutex
	machines map[string]*smol.Info
	// refuse is the error of a delete, by name.
	refuse map[string]error
	// stuck are names of machines whose delete does not come to an end.
	stuck map[string]bool
	// asked counts the questions.
	asked int
}

func newMemory(fleet string) *memory {
	return &memory{deadBackend: deadBackend{fleet: fleet}, machines: map[string]*smol.Info{}, refuse: map[string]error{}, stuck: map[string]bool{}}
}

func (m *memory) add(i *smol.Info) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i.ID = i.Name
	m.machines[i.ID] = i
}

func (m *memory) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.machines))
}

// Create makes a machine that is not booted.
func (m *memory) Create(_ context.Context, spec *smol.Spec) (*smol.Info, error) {
	i := &smol.Info{Name: spec.Name, State: smol.StateStopped, CreatedAt: time.Now(), Labels: spec.Labels}
	m.add(i)
	return i, nil
}

func (m *memory) Inspect(_ context.Context, id string) (*smol.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if i := m.machines[id]; i != nil {
		return i, nil
	}
	return nil, &smol.Error{Code: smol.CodeNotFound, Message: "no such machine", Err: smol.ErrNotFound}
}

func (m *memory) List(_ context.Context, labels map[string]string) iter.Seq2[*smol.Info, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	var out []*smol.Info
	for _, i := range m.machines {
		fits := true
		for k, v := range labels {
			fits = fits && i.Labels[k] == v
		}
		if fits {
			out = append(out, i)
		}
	}
	return func(yield func(*smol.Info, error) bool) {
		for _, i := range out {
			if !yield(i, nil) {
				return
			}
		}
	}
}

func (m *memory) Delete(ctx context.Context, id string, _ *smol.DeleteOptions) error {
	m.mu.Lock()
	if m.stuck[id] {
		m.mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	}
	defer m.mu.Unlock()
	if err := m.refuse[id]; err != nil {
		return err
	}
	delete(m.machines, id)
	return nil
}
