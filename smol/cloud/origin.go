package cloud

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"time"

	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"

	"github.com/smol-machines/smol-go/internal/randhex"
)

// originLabel is a label of every machine made here. It says which client made it and when by its own clock, so that a machine whose creation
// was not answered is known again, whatever the service's clock says. It is not shown to users of the library.
const originLabel = "smol-go/made"

// maxLabels is how many labels a machine can have.
const maxLabels = 32

// origin names this client in the labels of its machines.
type origin struct{ id string }

func newOrigin() origin {
	return origin{randhex.String(8)}
}

// mark returns the labels with that of this client, if there is room for it.
func (o origin) mark(labels map[string]string) map[string]string {
	if len(labels) >= maxLabels {
		return labels
	}
	out := make(map[string]string, len(labels)+1)
	maps.Copy(out, labels)
	out[originLabel] = o.id + "." + strconv.FormatInt(time.Now().UnixNano(), 36)
	return out
}

// since reports whether the mark was made by this client at began or later.
func (o origin) since(mark string, began time.Time) bool {
	id, at, _ := strings.Cut(mark, ".")
	n, err := strconv.ParseInt(at, 36, 64)
	return err == nil && id == o.id && n >= began.UnixNano()
}

// MadeSince implements [smol.OriginBackend]. A service that keeps no labels cannot tell.
func (b *Backend) MadeSince(ctx context.Context, id string, began time.Time) (made, known bool, err error) {
	var m cloudwire.MachineInfo
	if err := b.ask(ctx, opInspect, id, &m); err != nil {
		return false, false, err
	}
	mark, marked := m.Labels[originLabel]
	if !marked && (len(m.Labels) == 0 || len(m.Labels) >= maxLabels) {
		return false, false, nil // labels are not kept, or there was no room for ours
	}
	return b.origin.since(mark, began), true, nil
}

// withoutOrigin returns the labels that a user gave.
func withoutOrigin(labels map[string]string) map[string]string {
	if _, ok := labels[originLabel]; !ok {
		return labels
	}
	out := maps.Clone(labels)
	delete(out, originLabel)
	return out
}
