package smol

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/limit"
	"github.com/smol-machines/smol-go/internal/randhex"
)

const (
	// bulkLeast is how much output must wait in the machine for it to be fetched as a file, which is two calls.
	bulkLeast = 128 << 10
	// bulkSize is how much is fetched at once. It is all that is in memory, and the place at the machine is free again before the caller's
	// writer sees it.
	bulkSize = 8 << 20
)

// bulk delivers output of which a lot waits. Where that cannot be done it does nothing, and polls bring the output.
func (r *run) bulk(reply *guest.Reply) error {
	b, ok := find[FileBackend](r.m.fleet.backend)
	if r.noBulk = r.noBulk || !ok; r.noBulk {
		return nil
	}
	for _, s := range []struct {
		*sink
		name string
		size int64
	}{{r.out, "out", reply.StdoutSize}, {r.err, "err", reply.StderrSize}} {
		stem := reply.Base + "/" + r.start.ID
		for s.size-s.next >= bulkLeast && !s.clip {
			n := min(s.size-s.next, bulkSize)
			data, err := r.cut(b, stem, s.name, s.next, n)
			switch {
			case r.ctx.Err() != nil:
				return cause(r.ctx)
			case err != nil:
				r.noBulk = true
				return nil
			}
			if err := s.accept(r.ctx, &guest.Part{Offset: s.next, Data: data}, s.size); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut fetches n bytes of a file of the command's, whose files all begin with stem. They go through another one, which goes away with those at the
// latest. Its name is this run's own, since others may read the output of the same job.
func (r *run) cut(b FileBackend, stem, name string, offset, n int64) ([]byte, error) {
	if r.stage == "" {
		r.stage = stem + "." + randhex.String(4) + ".part"
	}
	req := &guest.FileCut{Path: stem + "." + name, Offset: offset, Length: n, Stage: r.stage, Window: n}
	if r.buffer == nil {
		r.buffer = make([]byte, bulkSize)
	}
	data := r.buffer[:n]
	err := r.m.inPlace(r.ctx, limit.Ordinary, func(ctx context.Context, id string) error {
		res, err := r.m.fleet.backend.Exec(ctx, id, &ExecRequest{Argv: req.Argv(), Dir: "/", User: r.user, Timeout: r.m.fleet.execTimeout(0)})
		if err != nil {
			return err
		}
		reply, err := guest.ParseFileReply(res.Stdout)
		if err != nil {
			return err
		}
		if reply.Status != guest.FileStaged {
			return fmt.Errorf("the machine answered %s", reply.Status)
		}
		body, size, err := b.Download(ctx, id, r.stage)
		if err != nil {
			return err
		}
		_, err = io.ReadFull(body, data)
		if size >= 0 && size != n {
			err = errWrongSize
		}
		return errors.Join(err, body.Close())
	}, r.stay)
	return data, err
}

// dropStage removes the file through which the output of a job came, for the job's own files stay.
func (r *run) dropStage() {
	if r.stage != "" {
		(&fileOp{m: r.m, visit: r.visit}).drop(r.ctx, r.stage)
	}
}
