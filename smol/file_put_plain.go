package smol

import (
	"context"
	"errors"
	"fmt"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/limit"
)

// putPlain writes the file through the fleet alone, for machines without a shell.
func (o *fileOp) putPlain(ctx context.Context, src *source, mode int, why error) error {
	b, ok := find[FileBackend](o.m.fleet.backend)
	if !ok {
		return why
	}
	if mode >= 0 {
		return o.wrap(&Error{
			Code: CodeUnsupported, Err: why, Message: "WriteOptions.Mode needs a shell in the machine, and there is none",
			Hint: "leave the mode out; the file gets 0644",
		})
	}
	t := o.m.fleet.traits
	most := t.MaxUpload
	if !within(o.path, "/workspace") && t.MaxBlindUpload > 0 {
		most = t.MaxBlindUpload
	}
	p, size, err := src.only(ctx, most)
	if err == nil {
		err = o.in(ctx, limit.Ordinary, func(ctx context.Context, id string) error { return b.Upload(ctx, id, o.path, p, size) })
		n, _, failed := p.end()
		switch {
		case failed != nil && ctx.Err() == nil:
			err = failed
		case err == nil:
			err = o.confirmSize(ctx, b, n)
		}
	}
	return o.wrap(err)
}

// only returns all of the source as one piece. It refuses more than most bytes, without a piece that is taken for the whole.
func (s *source) only(ctx context.Context, most int64) (*piece, int64, error) {
	if most <= 0 {
		most = 1 << 62
	}
	if s.left > most {
		return nil, 0, tooLarge(most)
	}
	p, size := s.next(ctx, most)
	if size < 0 {
		p.exceeds = tooLarge(most)
	}
	return p, size, nil
}

func tooLarge(most int64) error {
	return &Error{
		Code: CodeUnsupported, Message: fmt.Sprintf("without a shell in the machine at most %d bytes can be written there", most),
		Hint: "write below /workspace, or use an image with a shell",
	}
}

// confirmSize asks for the file that the service says it has written.
func (o *fileOp) confirmSize(ctx context.Context, b FileBackend, want int64) error {
	var got int64
	err := o.in(ctx, limit.Ordinary, func(ctx context.Context, id string) error {
		body, size, err := b.Download(ctx, id, o.path)
		if err != nil {
			return err
		}
		got = size
		return body.Close()
	})
	if err == nil && got >= 0 && got != want {
		err = fmt.Errorf("%d bytes were sent and the file has %d", want, got)
	}
	if err != nil && !isContextError(err) && !errors.Is(err, ErrUnavailable) {
		wrong := fileFailures[guest.FileWrongSize]
		wrong.Err = err
		return &wrong
	}
	return err
}
