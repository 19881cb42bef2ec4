package script

import (
	"context"
	"fmt"

	"github.com/smol-machines/smol-go/internal/guest"
)

// own returns how the library's own script in the argv of c is answered, or nil if it is another command.
func (i *instance) own(c *Call) func(context.Context) int {
	if r, ok := guest.ParseFile(c.Argv); ok {
		return func(context.Context) int {
			reply, err := i.files.do(r)
			if err != nil {
				fmt.Fprintln(c.Stderr, err)
			}
			if _, err := c.Stdout.Write(reply.Encode()); err != nil {
				return 1
			}
			return 0
		}
	}
	request, ok := guest.Parse(c.Argv)
	if !ok {
		return nil
	}
	if l, ok := request.(*guest.List); ok {
		return func(context.Context) int {
			if _, err := c.Stdout.Write(guest.EncodeList(i.list(l.Bases))); err != nil {
				return 1
			}
			return 0
		}
	}
	return func(ctx context.Context) int {
		reply, err := i.runner(ctx, c, request)
		if err == nil {
			_, err = c.Stdout.Write(reply.Encode())
		} else if said := guest.EncodeError(err); said != nil {
			_, _ = c.Stdout.Write(said) // a caller who is gone hears nothing
			return 3
		}
		if err != nil {
			fmt.Fprintln(c.Stderr, err)
			return 1
		}
		return 0
	}
}
