package smoltest

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/smol"
)

// resultMutant has a fault in the results of commands.
func resultMutant(name, what string, spoil func(*smol.ExecResult)) Mutant {
	return Mutant{name, what, bend(func(b *bent) {
		b.exec = func(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
			res, err := b.Backend.Exec(ctx, id, req)
			if err == nil {
				spoil(res)
			}
			return res, err
		}
	})}
}

// requestMutant has a fault in the commands.
func requestMutant(name, what string, spoil func(*smol.ExecRequest)) Mutant {
	return Mutant{name, what, bend(func(b *bent) {
		b.exec = func(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
			c := *req
			spoil(&c)
			return b.Backend.Exec(ctx, id, &c)
		}
	})}
}

func execMutants() []Mutant {
	return slices.Concat(resultMutants(), requestMutants(), []Mutant{
		{"deaf exec", "the end of its context does not end an exec", bend(func(b *bent) {
			b.exec = func(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
				return b.Backend.Exec(context.WithoutCancel(ctx), id, req)
			}
		})},
		{"exec twice", "a command runs twice", bend(func(b *bent) {
			b.exec = func(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
				if _, err := b.Backend.Exec(ctx, id, req); err != nil {
					return nil, err
				}
				return b.Backend.Exec(ctx, id, req)
			}
		})},
		{"request written", "the environment of the request is sorted in place", bend(func(b *bent) {
			b.exec = func(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
				slices.Sort(req.Env)
				return b.Backend.Exec(ctx, id, req)
			}
		})},
	})
}

func resultMutants() []Mutant {
	return []Mutant{
		resultMutant("exit code zero", "every command succeeds", func(r *smol.ExecResult) { r.ExitCode = 0 }),
		resultMutant("exit code one", "every command that fails exits with 1", func(r *smol.ExecResult) { r.ExitCode = min(r.ExitCode, 1) }),
		resultMutant("exit code of 7 bits", "the highest bit of the exit code is lost", func(r *smol.ExecResult) { r.ExitCode &= 127 }),
		resultMutant("stderr in stdout", "the error output is appended to the output", func(r *smol.ExecResult) {
			r.Stdout, r.Stderr = append(r.Stdout, r.Stderr...), nil
		}),
		resultMutant("stderr lost", "there is no error output", func(r *smol.ExecResult) { r.Stderr = nil }),
		resultMutant("CR lost", "CR LF becomes LF", func(r *smol.ExecResult) { r.Stdout = bytes.ReplaceAll(r.Stdout, []byte("\r\n"), []byte("\n")) }),
		resultMutant("not UTF-8 replaced", "bytes that are not UTF-8 are replaced", func(r *smol.ExecResult) {
			r.Stdout = bytes.ToValidUTF8(r.Stdout, []byte("\uFFFD"))
		}),
		resultMutant("cut at NUL", "output ends at the first zero byte", func(r *smol.ExecResult) { r.Stdout, _, _ = bytes.Cut(r.Stdout, []byte{0}) }),
		resultMutant("output trimmed", "line ends at the end of the output are dropped", func(r *smol.ExecResult) {
			r.Stdout = bytes.TrimRight(r.Stdout, "\r\n")
		}),
		resultMutant("long output cut", "output ends after a MiB", func(r *smol.ExecResult) { r.Stdout = r.Stdout[:min(len(r.Stdout), 1<<20)] }),
	}
}

func requestMutants() []Mutant {
	return []Mutant{
		requestMutant("environment dropped", "a command gets no environment", func(r *smol.ExecRequest) { r.Env = nil }),
		requestMutant("environment reversed", "the first of two variables of a name wins", func(r *smol.ExecRequest) {
			r.Env = slices.Clone(r.Env)
			slices.Reverse(r.Env)
		}),
		requestMutant("directory dropped", "a command runs in the default directory", func(r *smol.ExecRequest) { r.Dir = "" }),
		requestMutant("timeout dropped", "a command is not ended by its timeout", func(r *smol.ExecRequest) { r.Timeout = 0 }),
		requestMutant("empty arguments dropped", "arguments that are empty are left out", func(r *smol.ExecRequest) {
			r.Argv = slices.DeleteFunc(slices.Clone(r.Argv), func(a string) bool { return a == "" })
		}),
		requestMutant("arguments trimmed", "white space around an argument is dropped", func(r *smol.ExecRequest) {
			r.Argv = slices.Clone(r.Argv)
			for n := 3; n < len(r.Argv); n++ {
				r.Argv[n] = strings.TrimSpace(r.Argv[n])
			}
		}),
		requestMutant("bad arguments repaired", "NUL and bytes that are not UTF-8 are taken out of arguments", func(r *smol.ExecRequest) {
			r.Argv = slices.Clone(r.Argv)
			for n, a := range r.Argv {
				r.Argv[n] = strings.ReplaceAll(strings.ToValidUTF8(a, ""), "\x00", "")
			}
		}),
		requestMutant("user dropped", "a command runs as the machine's own user", func(r *smol.ExecRequest) { r.User = "" }),
	}
}
