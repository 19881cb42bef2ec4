package smol

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/smol-machines/smol-go/internal/limit"
)

// inMemory is how much input of a command is kept in memory; what is longer goes through a temporary file of this host.
const inMemory = 1 << 20

// sendStdin puts what the command is to read into the machine, as a file that the runner removes once it has opened it. All of it is
// read before a place at the machine is taken: the source may be slow, or another command of the same machine.
func (r *run) sendStdin() error {
	if r.stdin == nil {
		return nil
	}
	if err := r.m.guest.shell(); err != nil {
		return r.noStdin(err)
	}
	in, err := r.collect()
	if err != nil {
		return fmt.Errorf("reading Cmd.Stdin: %w", err)
	}
	defer in.close()
	r.start.Stdin, err = r.m.putInput(r.ctx, r.start.ID, in, in.size)
	return err
}

// input is a command's input, read to its end.
type input struct {
	io.Reader
	size int64
	file *os.File
}

func (in *input) close() {
	if in.file != nil {
		in.file.Close()
		os.Remove(in.file.Name())
	}
}

// collect reads Cmd.Stdin in a goroutine of its own, because a read need not end with the context.
func (r *run) collect() (*input, error) {
	type result struct {
		in       *input
		err      error
		panicked any
	}
	done := make(chan result, 1)
	go func() {
		res := result{err: errGoexit}
		defer func() {
			res.panicked = recover()
			done <- res
		}()
		res.in, res.err = readInput(r.stdin)
	}()
	select {
	case res := <-done:
		if res.panicked != nil {
			panic(res.panicked)
		}
		return res.in, res.err
	case <-r.ctx.Done():
		go func() { // when the read returns after all
			if res := <-done; res.in != nil {
				res.in.close()
			}
		}()
		return nil, cause(r.ctx)
	}
}

func readInput(r io.Reader) (*input, error) {
	var head bytes.Buffer
	n, err := io.CopyN(&head, r, inMemory+1)
	if err == io.EOF {
		return &input{Reader: &head, size: n}, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "smol-stdin-*")
	if err != nil {
		return nil, err
	}
	in := &input{Reader: f, file: f}
	in.size, err = io.Copy(f, io.MultiReader(&head, r))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// putInput uploads the input of a command and returns where it lies.
func (m *Machine) putInput(ctx context.Context, id string, r io.Reader, size int64) (string, error) {
	b, ok := find[FileBackend](m.fleet.backend)
	if !ok {
		return "", m.fleet.unsupported("run", m.Name(), "way for Cmd.Stdin", "put the input into a file of the machine")
	}
	var p string
	err := m.inPlace(ctx, limit.Ordinary, func(ctx context.Context, machine string) error {
		p = orElse(m.guest.knownBase(), m.bases()[0]) + "/" + id + ".in"
		return b.Upload(ctx, machine, p, r, size)
	}, m.prepare)
	return p, err
}
