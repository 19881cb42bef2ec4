package smoltest

import (
	"context"
	"iter"

	"github.com/smol-machines/smol-go/smol"
)

// listMutant has a fault in the list of machines. Emit gets each line and its number, and yields what it makes of it.
func listMutant(name, what string, emit func(n int, info *smol.Info, err error, yield func(*smol.Info, error) bool) bool) Mutant {
	return Mutant{name, what, bend(func(b *bent) {
		b.list = func(ctx context.Context, labels map[string]string) iter.Seq2[*smol.Info, error] {
			return func(yield func(*smol.Info, error) bool) {
				n := 0
				for info, err := range b.Backend.List(ctx, labels) {
					if !emit(n, info, err, yield) {
						return
					}
					n++
				}
			}
		}
	})}
}

func listMutants() []Mutant {
	return []Mutant{
		listMutant("list of 100", "a list ends after 100 machines", func(n int, info *smol.Info, err error, yield func(*smol.Info, error) bool) bool {
			return n < 100 && yield(info, err)
		}),
		listMutant("list without the first", "a list begins with the second machine", func(n int, info *smol.Info, err error, yield func(*smol.Info, error) bool) bool {
			return n == 0 && err == nil || yield(info, err)
		}),
		listMutant("listed twice", "a list has its first machine twice", func(n int, info *smol.Info, err error, yield func(*smol.Info, error) bool) bool {
			return (n > 0 || yield(info, err)) && yield(info, err)
		}),
		listMutant("list fails in silence", "a list that fails is empty", func(_ int, info *smol.Info, err error, yield func(*smol.Info, error) bool) bool {
			return err == nil && yield(info, nil)
		}),
		listMutant("list of names", "a list tells no states", func(_ int, info *smol.Info, err error, yield func(*smol.Info, error) bool) bool {
			if info != nil {
				info = &smol.Info{Name: info.Name, ID: info.ID}
			}
			return yield(info, err)
		}),
		{"list ignores labels", "a list by labels has all machines", bend(func(b *bent) {
			b.list = func(ctx context.Context, _ map[string]string) iter.Seq2[*smol.Info, error] {
				return b.Backend.List(ctx, nil)
			}
		})},
		{"list remembers", "a list is asked for once", bend(func(b *bent) {
			var first []*smol.Info
			b.list = func(ctx context.Context, labels map[string]string) iter.Seq2[*smol.Info, error] {
				return func(yield func(*smol.Info, error) bool) {
					if first == nil {
						for info, err := range b.Backend.List(ctx, labels) {
							if err != nil {
								yield(nil, err)
								return
							}
							first = append(first, info)
						}
					}
					for _, info := range first {
						if !yield(info, nil) {
							return
						}
					}
				}
			}
		})},
	}
}
