package cloud

import (
	"context"

	"github.com/smol-machines/smol-go/smol"
)

// Machine is a handle of one machine in the cloud. It embeds the part that machines of all fleets share and adds what only these have. It is safe
// for concurrent use.
type Machine struct {
	*smol.Machine
	backend *Backend
}

// Extend returns m with what only machines in the cloud have. It reports false if m is of another fleet.
func Extend(m *smol.Machine) (*Machine, bool) {
	if m == nil {
		return nil, false
	}
	for b := m.Fleet().Backend(); b != nil; {
		if own, ok := b.(*Backend); ok {
			return &Machine{Machine: m, backend: own}, true
		}
		wrapper, ok := b.(interface{ Unwrap() smol.Backend })
		if !ok {
			break
		}
		b = wrapper.Unwrap()
	}
	return nil, false
}

// resolve returns the id of the machine, asking the service the first time.
func (m *Machine) resolve(ctx context.Context, op string) (string, error) {
	if id := m.ID(); id != "" {
		return id, nil
	}
	info, err := m.Info(ctx)
	if err != nil {
		return "", describe(op, m.Name(), err)
	}
	return info.ID, nil
}

// describe gives an error the operation and the machine that the caller knows.
func describe(op, machine string, err error) error {
	e, ok := err.(*smol.Error)
	if !ok {
		return err // nil, or of a context, which names what it cut short
	}
	c := *e
	c.Op, c.Machine = op, machine
	return &c
}
