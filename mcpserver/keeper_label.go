package mcpserver

import (
	"context"
	"maps"

	"github.com/smol-machines/smol-go/smol"
)

// spec adds to the spec of an ephemeral machine what lets the cloud itself, or a later process, delete it. It is called after expect.
func (k *keeper) spec(ss *session, t Target, spec *smol.Spec) {
	if t != TargetCloud || !k.ephemeral(spec.Name) {
		return
	}
	spec.TTL, spec.AutoStop = k.server.config.EphemeralTTL, k.server.config.EphemeralAutoStop
	spec.Labels = k.marks(ss, spec.Labels)
}

// labels returns the labels of a branch; nil leaves those of its source. A branch that stays must not have those of a source that goes.
func (k *keeper) labels(ctx context.Context, ss *session, t Target, source *smol.Machine, child string) (map[string]string, error) {
	if t != TargetCloud || k.ledger == nil {
		return nil, nil
	}
	info, err := source.Info(ctx)
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(info.Labels)
	delete(labels, labelHost)
	delete(labels, labelSession)
	if k.ephemeral(child) {
		return k.marks(ss, labels), nil
	}
	if len(labels) == len(info.Labels) {
		return nil, nil
	}
	return labels, nil
}

// marks returns labels with those of the session.
func (k *keeper) marks(ss *session, labels map[string]string) map[string]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.host == "" {
		return labels
	}
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	out[labelHost], out[labelSession] = k.host, ss.id
	return out
}

// marked reports whether a machine has the labels of that host and session.
func marked(i *smol.Info, host, session string) bool {
	return host != "" && i.Labels[labelHost] == host && i.Labels[labelSession] == session
}
