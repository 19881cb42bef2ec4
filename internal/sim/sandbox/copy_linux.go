package sandbox

import (
	"context"
	"errors"
)

// Copy copies the disks of src to dst, which must not exist.
func (g *Guest) Copy(_ context.Context, _, _ string) error {
	return &Error{Step: "copy", Err: errors.ErrUnsupported}
}
