package cloud

import (
	"context"
	"iter"
	"slices"
	"time"

	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
)

// Event is something that happened to a machine, as the service that keeps it saw it.
type Event struct {
	// ID is the service's id of the event.
	ID string
	// Level is how grave it is, in the service's words, such as "info".
	Level string
	// Message says what it was.
	Message string
	// At is when it happened.
	At time.Time
}

// EventsOptions are the knobs of [Machine.Events]. Nil and the zero value give all that is kept.
type EventsOptions struct {
	// After is the ID of the last event that is known already. Those that follow it are given; all of them if it is not kept any more. Empty: all.
	After string
}

// Events yields what happened to the machine, oldest first. The first error ends the sequence; it matches [smol.ErrNotFound] if there is no
// such machine. Ranging again asks again.
func (m *Machine) Events(ctx context.Context, opts *EventsOptions) iter.Seq2[*Event, error] {
	var o EventsOptions
	if opts != nil {
		o = *opts
	}
	return func(yield func(*Event, error) bool) {
		events, err := m.events(ctx, o.After)
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range events {
			e := &events[i]
			if !yield(&Event{ID: e.ID, Level: e.Level, Message: e.Message, At: e.CreatedAt.Time}, nil) {
				return
			}
		}
	}
}

// events returns the events after the one with that id. The service itself has no cursor.
func (m *Machine) events(ctx context.Context, after string) ([]cloudwire.Event, error) {
	op := operations[opEvents].name
	id, err := m.resolve(ctx, op)
	if err != nil {
		return nil, err
	}
	var events []cloudwire.Event
	if err := m.backend.ask(ctx, opEvents, id, &events); err != nil {
		return nil, describe(op, m.Name(), err)
	}
	if after != "" {
		i := slices.IndexFunc(events, func(e cloudwire.Event) bool { return e.ID == after })
		events = events[i+1:]
	}
	return events, nil
}
