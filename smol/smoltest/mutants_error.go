package smoltest

import (
	"context"
	"errors"

	"github.com/smol-machines/smol-go/smol"
)

// errorMutant has a fault in the errors of all methods with one answer.
func errorMutant(name, what string, spoil func(error) error) Mutant {
	return Mutant{name, what, bend(func(b *bent) {
		b.create = func(ctx context.Context, spec *smol.Spec) (*smol.Info, error) {
			info, err := b.Backend.Create(ctx, spec)
			return info, spoil(err)
		}
		b.inspect = func(ctx context.Context, ref string) (*smol.Info, error) {
			info, err := b.Backend.Inspect(ctx, ref)
			return info, spoil(err)
		}
		b.start = func(ctx context.Context, id string, o *smol.StartOptions) (*smol.Info, error) {
			info, err := b.Backend.Start(ctx, id, o)
			return info, spoil(err)
		}
		b.stop = func(ctx context.Context, id string, o *smol.StopOptions) (*smol.Info, error) {
			info, err := b.Backend.Stop(ctx, id, o)
			return info, spoil(err)
		}
		b.delete = func(ctx context.Context, id string, o *smol.DeleteOptions) error {
			return spoil(b.Backend.Delete(ctx, id, o))
		}
		b.exec = func(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
			res, err := b.Backend.Exec(ctx, id, req)
			return res, spoil(err)
		}
	})}
}

// changed applies f to a copy of err if it is the library's own.
func changed(err error, f func(*smol.Error)) error {
	var e *smol.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	f(&c)
	return &c
}

func errorMutants() []Mutant {
	return []Mutant{
		errorMutant("errors without status", "errors do not tell the status of the answer", func(err error) error {
			return changed(err, func(e *smol.Error) { e.Status = 0 })
		}),
		errorMutant("errors without words", "errors do not tell what the service said", func(err error) error {
			return changed(err, func(e *smol.Error) { e.Message, e.Err = "", nil })
		}),
		errorMutant("errors without class", "all errors are of the class unknown", func(err error) error {
			return changed(err, func(e *smol.Error) { e.Code = smol.CodeUnknown })
		}),
		errorMutant("errors without type", "errors are text", func(err error) error {
			if err == nil {
				return nil
			}
			return errors.New(err.Error())
		}),
		errorMutant("cancelled is unavailable", "a call whose context has ended says that the service does not answer", func(err error) error {
			if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
				return &smol.Error{Code: smol.CodeUnavailable, Message: "no answer"}
			}
			return err
		}),
		errorMutant("missing is denied", "what is missing is forbidden", func(err error) error {
			return changed(err, func(e *smol.Error) {
				if e.Code == smol.CodeNotFound {
					e.Code, e.Status = smol.CodePermissionDenied, 403
				}
			})
		}),
		{"missing is there", "an inspect of a machine that is missing describes one that is stopped", bend(func(b *bent) {
			b.inspect = func(ctx context.Context, ref string) (*smol.Info, error) {
				info, err := b.Backend.Inspect(ctx, ref)
				if errors.Is(err, smol.ErrNotFound) {
					return &smol.Info{ID: ref, Name: ref, State: smol.StateStopped}, nil
				}
				return info, err
			}
		})},
	}
}
