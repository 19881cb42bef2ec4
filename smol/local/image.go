package local

import (
	"context"
	"net/http"
	"strings"

	"github.com/smol-machines/smol-go/internal/pace"
	"github.com/smol-machines/smol-go/internal/rest"
	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/smol"
)

// imageTries is how often the service is asked whether a pull that outlasted its request has ended: ten minutes, after which the
// service gives up on a pull that does not move.
const imageTries = 300

// PullImage implements [smol.ImageBackend]. The credentials are those of smolvm's own configuration. When the service gives up on the
// answer, after five minutes, the pull goes on, and the package waits until the image is there.
func (b *Backend) PullImage(ctx context.Context, id, image string) (*smol.Image, error) {
	const op = "pull image"
	r, err := request(op, http.MethodPost, id, "/images/pull")
	if err != nil {
		return nil, err
	}
	if image == "" {
		return nil, rest.Describe(rest.Invalid("image", "is empty"), op, id)
	}
	if err := rest.CheckText("image", image); err != nil {
		return nil, rest.Describe(err, op, id)
	}
	var pulled struct{ Image *localwire.ImageInfo }
	err = b.send(ctx, r, &localwire.PullImageRequest{Image: image}, &pulled)
	switch _, late := rest.Answer(err, http.StatusRequestTimeout); {
	case late:
		return b.awaitImage(ctx, id, image, err)
	case err != nil:
		return nil, b.unregistered(ctx, id, err)
	case pulled.Image == nil:
		return nil, &smol.Error{Op: op, Machine: id, Code: smol.CodeUnknown, Message: "the reply describes no image"}
	}
	return imageOf(pulled.Image), nil
}

// awaitImage waits for an image to appear in the machine. The error is why, if it does not.
func (b *Backend) awaitImage(ctx context.Context, id, image string, why error) (*smol.Image, error) {
	want := normalise(image)
	for range imageTries {
		var list localwire.ImageList
		r, err := request("pull image", http.MethodGet, id, "/images")
		if err != nil {
			return nil, err
		}
		if err := b.send(ctx, r, nil, &list); err == nil {
			for i := range list.Images {
				if normalise(list.Images[i].Reference) == want {
					return imageOf(&list.Images[i]), nil
				}
			}
		}
		if pace.Wait(ctx, b.pauses.image) != nil {
			return nil, r.Broken(ctx, why)
		}
	}
	return nil, why
}

func imageOf(i *localwire.ImageInfo) *smol.Image {
	return &smol.Image{
		Reference: i.Reference, Digest: i.Digest, Size: i.Size, Architecture: i.Architecture, OS: i.OS, Layers: i.LayerCount,
	}
}

// normalise completes an image reference as Docker does: docker.io/library/alpine:latest for alpine. A digest wins over a tag.
func normalise(ref string) string {
	name, digest, hasDigest := strings.Cut(ref, "@")
	host, rest, ok := strings.Cut(name, "/")
	if !ok || !strings.ContainsAny(host, ".:") && host != "localhost" {
		host, rest = "docker.io", name
	}
	if host == "index.docker.io" {
		host = "docker.io"
	}
	if host == "docker.io" && !strings.Contains(rest, "/") {
		rest = "library/" + rest
	}
	tagged := strings.LastIndex(rest, ":") > strings.LastIndex(rest, "/")
	switch {
	case hasDigest && tagged:
		rest = rest[:strings.LastIndex(rest, ":")] + "@" + digest
	case hasDigest:
		rest += "@" + digest
	case !tagged:
		rest += ":latest"
	}
	return host + "/" + rest
}
