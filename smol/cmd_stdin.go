package smol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/smol-machines/smol-go/internal/guest"
)

// inMemory is how much input of a command is kept in memory; what is longer goes through a temporary file of this host.
const inMemory = 1 << 20

// sendStdin puts what the command is to read into the machine, as a file that the runner removes once it has opened it. All of it is
// read before a place at the machine is taken: the source may be slow, or another command of the same machine.
func (r *run) sendStdin() error {
	if r.stdin == nil {
		return nil
	}
	in, err := r.collect()
	if err != nil {
		return err
	}
	defer in.close()
	src, err := newSource(in.Reader, 0)
	if err != nil {
		return err
	}
	o := &fileOp{m: r.m, name: "run", visit: r.visit}
	r.input, err = o.newStage(r.ctx, false)
	if errors.Is(err, guest.ErrNoShell) {
		return r.noStdin(guest.ErrNoShell)
	}
	if err == nil {
		err = r.input.fill(r.ctx, src)
	}
	if err == nil && len(r.input.rest) > 0 {
		err = r.input.join(r.ctx)
	}
	if err == nil {
		r.start.Stdin = r.input.whole.Path
	}
	return err
}

// dropStdin removes the input of a command that may not have started, and so not have opened it.
func (r *run) dropStdin() {
	select {
	case <-r.begun:
	default:
		if r.input != nil {
			r.input.drop(r.ctx)
		}
	}
}

// input is a command's input, read to its end.
type input struct {
	io.Reader
	file *os.File // that Reader is, or nil
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
		if res.err != nil {
			res.err = fmt.Errorf("reading Cmd.Stdin: %w", res.err)
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
	_, err := io.CopyN(&head, r, inMemory+1)
	if err == io.EOF {
		return &input{Reader: &head}, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "smol-stdin-*")
	if err != nil {
		return nil, err
	}
	in := &input{Reader: f, file: f}
	_, err = io.Copy(f, io.MultiReader(&head, r))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}
