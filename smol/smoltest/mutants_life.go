package smoltest

import (
	"context"
	"errors"
	"sync"

	"github.com/smol-machines/smol-go/smol"
)

// startMutant, stopMutant and deleteMutant have a fault in one call; next is the call as it should be.
func startMutant(name, what string, start func(ctx context.Context, b smol.Backend, id string, o *smol.StartOptions) (*smol.Info, error)) Mutant {
	return Mutant{name, what, bend(func(b *bent) {
		b.start = func(ctx context.Context, id string, o *smol.StartOptions) (*smol.Info, error) {
			return start(ctx, b.Backend, id, o)
		}
	})}
}

func stopMutant(name, what string, stop func(ctx context.Context, b smol.Backend, id string) (*smol.Info, error)) Mutant {
	return Mutant{name, what, bend(func(b *bent) {
		b.stop = func(ctx context.Context, id string, _ *smol.StopOptions) (*smol.Info, error) {
			return stop(ctx, b.Backend, id)
		}
	})}
}

func deleteMutant(name, what string, del func(ctx context.Context, b smol.Backend, id string) error) Mutant {
	return Mutant{name, what, bend(func(b *bent) {
		b.delete = func(ctx context.Context, id string, _ *smol.DeleteOptions) error { return del(ctx, b.Backend, id) }
	})}
}

func startMutants() []Mutant {
	return []Mutant{
		startMutant("start too early", "a start returns before the machine runs", func(ctx context.Context, b smol.Backend, id string, o *smol.StartOptions) (*smol.Info, error) {
			info, err := b.Inspect(ctx, id)
			if err != nil {
				return nil, err
			}
			go func() { _, _ = b.Start(context.WithoutCancel(ctx), id, o) }()
			return info, nil
		}),
		startMutant("start is a restart", "a start stops the machine that runs", func(ctx context.Context, b smol.Backend, id string, o *smol.StartOptions) (*smol.Info, error) {
			if _, err := b.Stop(ctx, id, nil); err != nil {
				return nil, err
			}
			return b.Start(ctx, id, o)
		}),
		startMutant("start refused when running", "a start of a machine that runs is a conflict", func(ctx context.Context, b smol.Backend, id string, o *smol.StartOptions) (*smol.Info, error) {
			if info, err := b.Inspect(ctx, id); err == nil && info.State == smol.StateRunning {
				return nil, &smol.Error{Code: smol.CodeConflict, Status: 409, Message: "it runs"}
			}
			return b.Start(ctx, id, o)
		}),
	}
}

func stopMutants() []Mutant {
	return []Mutant{
		stopMutant("stop does nothing", "a stop says what state the machine is in", func(ctx context.Context, b smol.Backend, id string) (*smol.Info, error) {
			return b.Inspect(ctx, id)
		}),
		stopMutant("stop lies", "a stop does nothing and says that the machine is stopped", func(ctx context.Context, b smol.Backend, id string) (*smol.Info, error) {
			info, err := b.Inspect(ctx, id)
			if err == nil {
				info.State = smol.StateStopped
			}
			return info, err
		}),
		stopMutant("stop refused when stopped", "a stop of a machine that is stopped is a conflict", func(ctx context.Context, b smol.Backend, id string) (*smol.Info, error) {
			if info, err := b.Inspect(ctx, id); err == nil && info.State != smol.StateRunning {
				return nil, &smol.Error{Code: smol.CodeConflict, Status: 409, Message: "it does not run"}
			}
			return b.Stop(ctx, id, nil)
		}),
		deleteMutant("delete does nothing", "a delete says that it is done", func(context.Context, smol.Backend, string) error { return nil }),
		deleteMutant("delete is a stop", "a delete stops the machine", func(ctx context.Context, b smol.Backend, id string) error {
			_, err := b.Stop(ctx, id, nil)
			return err
		}),
		deleteMutant("not found is success", "a delete of a machine that is missing succeeds", func(ctx context.Context, b smol.Backend, id string) error {
			if err := b.Delete(ctx, id, nil); !errors.Is(err, smol.ErrNotFound) {
				return err
			}
			return nil
		}),
		{"answers of another machine", "an inspect describes the machine that was created last", bend(func(b *bent) {
			var mu sync.Mutex
			last := ""
			b.create = func(ctx context.Context, spec *smol.Spec) (*smol.Info, error) {
				info, err := b.Backend.Create(ctx, spec)
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					last = info.ID
				}
				return info, err
			}
			b.inspect = func(ctx context.Context, ref string) (*smol.Info, error) {
				mu.Lock()
				id := last
				mu.Unlock()
				if info, err := b.Backend.Inspect(ctx, id); err == nil {
					return info, nil
				}
				return b.Backend.Inspect(ctx, ref)
			}
		})},
	}
}
