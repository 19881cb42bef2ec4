package smol

import (
	"context"

	"github.com/smol-machines/smol-go/internal/limit"
)

// PullOptions are the knobs of [Machine.PullImage]; there are none yet.
type PullOptions struct{}

// PullImage pulls a further OCI image into the machine, booting it if it is stopped. A fleet that cannot is an error that
// matches errors.ErrUnsupported. An image that is not there matches [ErrNotFound].
func (m *Machine) PullImage(ctx context.Context, image string, opts *PullOptions) (*Image, error) {
	const op = "pull image"
	_ = opts
	if image == "" {
		return nil, wrapError(op, m.Name(), invalidf("image", "is empty"))
	}
	if err := validateImage("image", image); err != nil {
		return nil, wrapError(op, m.Name(), err)
	}
	b, ok := find[ImageBackend](m.fleet.backend)
	if !ok {
		return nil, m.fleet.unsupported(op, m.Name(), "way to pull further images", "create another machine from the image")
	}
	var img *Image
	err := m.call(ctx, op, limit.Ordinary, func(ctx context.Context, id string) (err error) {
		img, err = b.PullImage(ctx, id, image)
		return nameImage(err, image)
	})
	return img, err
}
