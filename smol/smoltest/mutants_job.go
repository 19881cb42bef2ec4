package smoltest

import (
	"context"
	"strings"
	"sync"

	"github.com/smol-machines/smol-go/smol"
)

// jobMutants have faults that a command which is waited for in one call does not show.
func jobMutants() []Mutant {
	return []Mutant{
		{"answers remembered", "a command that was sent before is answered as it was then", bend(func(b *bent) {
			var mu sync.Mutex
			answers := map[string]*smol.ExecResult{}
			b.exec = func(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
				key := id + "\x00" + strings.Join(req.Argv, "\x00")
				mu.Lock()
				known := answers[key]
				mu.Unlock()
				if known != nil {
					return known, nil
				}
				res, err := b.Backend.Exec(ctx, id, req)
				if err == nil {
					mu.Lock()
					answers[key] = res
					mu.Unlock()
				}
				return res, err
			}
		})},
		requestMutant("ids of jobs cut", "an argument that begins as the id of a job ends after 20 bytes", func(r *smol.ExecRequest) {
			r.Argv = append([]string(nil), r.Argv...)
			for i, a := range r.Argv {
				if i > 3 && strings.HasPrefix(a, "job-") {
					r.Argv[i] = a[:min(len(a), 20)]
				}
			}
		}),
	}
}
