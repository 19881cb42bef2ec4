package sandbox

import (
	"fmt"
	"path"
	"strings"

	"github.com/smol-machines/smol-go/internal/sim"
)

// kind is what a machine is made of.
type kind int

const (
	kindHost    kind = iota // the host's /usr
	kindGo                  // and the host's Go
	kindShell               // with another /bin/sh
	kindBusybox             // nothing but busybox
	kindNoShell             // a few programs and no shell
)

// chooseKind returns what the image is made of, and for kindShell the name of the shell.
func chooseKind(image string) (kind, string, error) {
	repository := repositoryOf(image)
	base := path.Base(repository)
	switch {
	case image == "":
		return kindHost, "", nil
	case strings.Contains(repository, "missing"):
		return 0, "", fmt.Errorf("image %q: %w", image, sim.ErrNoImage)
	case base == "busybox", base == "alpine":
		return kindBusybox, "", nil
	case base == "golang":
		return kindGo, "", nil
	case base == "dash", base == "bash":
		return kindShell, base, nil
	case base == "noshell", strings.Contains(repository, "distroless"), strings.Contains(base, "scratch"):
		return kindNoShell, "", nil
	}
	return kindHost, "", nil
}

// repositoryOf cuts the digest and the tag off an OCI reference.
func repositoryOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}
