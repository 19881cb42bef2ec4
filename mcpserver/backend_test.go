package mcpserver_test

import (
	"context"
	"errors"
	"iter"

	"github.com/smol-machines/smol-go/smol"
)

// deadBackend is a fleet that fails, or panics, at every call.
type deadBackend struct {
	fleet string
	err   error
	panic any
}

func (b *deadBackend) fail() error {
	if b.panic != nil {
		panic(b.panic)
	}
	if b.err != nil {
		return b.err
	}
	return errors.New("nobody is there")
}

func (b *deadBackend) Traits() smol.Traits { return smol.Traits{Fleet: b.fleet, KeepsEnv: true} }

func (b *deadBackend) Create(context.Context, *smol.Spec) (*smol.Info, error) { return nil, b.fail() }

func (b *deadBackend) Inspect(context.Context, string) (*smol.Info, error) { return nil, b.fail() }

func (b *deadBackend) List(_ context.Context, _ map[string]string) iter.Seq2[*smol.Info, error] {
	return func(yield func(*smol.Info, error) bool) { yield(nil, b.fail()) }
}

func (b *deadBackend) Start(context.Context, string, *smol.StartOptions) (*smol.Info, error) {
	return nil, b.fail()
}

func (b *deadBackend) Stop(context.Context, string, *smol.StopOptions) (*smol.Info, error) {
	return nil, b.fail()
}

func (b *deadBackend) Delete(context.Context, string, *smol.DeleteOptions) error { return b.fail() }

func (b *deadBackend) Exec(context.Context, string, *smol.ExecRequest) (*smol.ExecResult, error) {
	return nil, b.fail()
}

func (b *deadBackend) Close() error { return nil }
