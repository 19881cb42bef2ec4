package smoltest

import (
	"context"
	"errors"
	"time"

	"github.com/smol-machines/smol-go/internal/randhex"
	"github.com/smol-machines/smol-go/smol"
)

// createMutant has a fault in the creation of machines.
func createMutant(name, what string, create func(ctx context.Context, b smol.Backend, spec *smol.Spec) (*smol.Info, error)) Mutant {
	return Mutant{name, what, bend(func(b *bent) {
		b.create = func(ctx context.Context, spec *smol.Spec) (*smol.Info, error) { return create(ctx, b.Backend, spec) }
	})}
}

func createMutants() []Mutant {
	return []Mutant{
		createMutant("second create accepted", "a create of a name that is taken gives the machine that has it", func(ctx context.Context, b smol.Backend, spec *smol.Spec) (*smol.Info, error) {
			info, err := b.Create(ctx, spec)
			if errors.Is(err, smol.ErrExists) {
				return b.Inspect(ctx, spec.Name)
			}
			return info, err
		}),
		createMutant("second create replaces", "a create of a name that is taken deletes the machine that has it", func(ctx context.Context, b smol.Backend, spec *smol.Spec) (*smol.Info, error) {
			info, err := b.Create(ctx, spec)
			if !errors.Is(err, smol.ErrExists) {
				return info, err
			}
			old, err := b.Inspect(ctx, spec.Name)
			if err == nil {
				err = b.Delete(ctx, old.ID, nil)
			}
			if err != nil {
				return nil, err
			}
			return b.Create(ctx, spec)
		}),
		createMutant("cancelled create left behind", "a create whose context has ended goes on, and says that it was refused",
			func(ctx context.Context, b smol.Backend, spec *smol.Spec) (*smol.Info, error) {
				lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
				defer cancel()
				info, err := b.Create(lasting, spec)
				if ctx.Err() != nil {
					return nil, &smol.Error{Code: smol.CodeConflict, Status: 409, Message: "cancelled", Err: ctx.Err()}
				}
				return info, err
			}),
		createMutant("an orphan", "a create makes two machines", func(ctx context.Context, b smol.Backend, spec *smol.Spec) (*smol.Info, error) {
			info, err := b.Create(ctx, spec)
			if err == nil {
				second := *spec
				second.Name += "-2"
				_, err = b.Create(ctx, &second)
			}
			return info, err
		}),
	}
}

func specMutants() []Mutant {
	return []Mutant{
		createMutant("resources dropped", "a machine gets the fleet's own size", func(ctx context.Context, b smol.Backend, spec *smol.Spec) (*smol.Info, error) {
			c := *spec
			c.Resources = smol.Resources{}
			return b.Create(ctx, &c)
		}),
		createMutant("network turned", "a machine that is to reach nothing may reach everything", func(ctx context.Context, b smol.Backend, spec *smol.Spec) (*smol.Info, error) {
			c := *spec
			c.Network.Open = !c.Network.Open
			return b.Create(ctx, &c)
		}),
		createMutant("name repaired", "a name that is not allowed is replaced by one that is", func(ctx context.Context, b smol.Backend, spec *smol.Spec) (*smol.Info, error) {
			info, err := b.Create(ctx, spec)
			if errors.Is(err, smol.ErrInvalid) {
				c := *spec
				c.Name = "repaired-" + randhex.String(4)
				return b.Create(ctx, &c)
			}
			return info, err
		}),
		createMutant("labels dropped", "a machine gets no labels", func(ctx context.Context, b smol.Backend, spec *smol.Spec) (*smol.Info, error) {
			c := *spec
			c.Labels = nil
			return b.Create(ctx, &c)
		}),
		createMutant("spec written", "a create adds to the environment that it was given", func(ctx context.Context, b smol.Backend, spec *smol.Spec) (*smol.Info, error) {
			if spec.Env != nil {
				spec.Env["SUITE_ADDED"] = "1"
			}
			return b.Create(ctx, spec)
		}),
	}
}
