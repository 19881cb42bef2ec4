package local

import "strings"

type resizeMachineRequest struct {
	StorageGB *uint64 `serde:"storageGb"`
	OverlayGB *uint64 `serde:"overlayGb"`
}

func (c *call) resize() (any, error) {
	var req resizeMachineRequest
	if err := c.decode(&req, nil); err != nil {
		return nil, err
	}
	m, err := c.locked(c.find)
	if err != nil {
		return nil, err
	}
	defer m.life.unlock()
	if state := m.state(c.ctx); state != stateStopped && state != stateCreated {
		return nil, conflict("machine '%s' must be stopped before resizing. Current state: %s", m.name, strings.ToUpper(state[:1])+state[1:])
	}
	if clones := c.clones(m.name); len(clones) > 0 {
		return nil, conflict("machine '%s' is the fork base of %s; their disks are backed by its disks — delete the clones first", m.name, liveClones(clones))
	}
	rec, _ := m.snapshot()
	switch {
	case req.StorageGB != nil && *req.StorageGB < rec.StorageGB:
		return nil, badRequest("storageGb cannot be smaller than current size (%d GiB)", rec.StorageGB)
	case req.OverlayGB != nil && *req.OverlayGB < rec.OverlayGB:
		return nil, badRequest("overlayGb cannot be smaller than current size (%d GiB)", rec.OverlayGB)
	case req.StorageGB == nil && req.OverlayGB == nil:
		return nil, badRequest("at least one of storageGb or overlayGb must be specified")
	}
	err = m.update(func(r *record) {
		r.StorageGB, r.OverlayGB = valueOr(req.StorageGB, r.StorageGB), valueOr(req.OverlayGB, r.OverlayGB)
	})
	if err != nil {
		return nil, err
	}
	return m.info(c.ctx), nil
}

type exportRequest struct {
	Repo          string `serde:"repo"`
	Tag           string `serde:"tag"`
	PushToken     string `serde:"pushToken"`
	ReferenceHost string `serde:"referenceHost"`
}

// export checks what the real one does, and then fails: there is nothing to push to.
func (c *call) export() (any, error) {
	var req exportRequest
	if err := c.decode(&req, nil); err != nil {
		return nil, err
	}
	m, err := c.locked(c.find)
	if err != nil {
		return nil, err
	}
	defer m.life.unlock()
	if m.state(c.ctx) != stateStopped {
		return nil, conflict("machine must be stopped to export")
	}
	return nil, internal("pack export failed: there is no machine image to pack")
}

type egressQuery struct {
	Limit *uint `serde:"limit"`
}

// egressEvents answers that nothing was denied: no machine here has a way out that could be.
func (c *call) egressEvents() (any, error) {
	var q egressQuery
	if err := c.query(&q); err != nil {
		return nil, err
	}
	if _, err := c.find(c.params["name"]); err != nil {
		return nil, err
	}
	return struct {
		Events []struct{} `json:"events"`
	}{[]struct{}{}}, nil
}

// sync answers as if there were no staged mounts; more is not known of the real one.
func (c *call) sync() (any, error) {
	if _, err := c.find(c.params["name"]); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}
