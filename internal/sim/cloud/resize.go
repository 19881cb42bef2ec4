package cloud

type resizeRequest struct {
	CPUs     *uint32 `serde:"cpus"`
	MemoryMB *uint32 `serde:"memoryMb"`
	DiskGB   *uint64 `serde:"diskGb"`
}

// resize changes what the machine is said and billed to have.
func (c *call) resize() (any, error) {
	var req resizeRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	return exclusive(c, m, func() (any, error) {
		rec, _ := m.snapshot()
		next, err := resized(rec.Resources, &req)
		if err != nil {
			return nil, err
		}
		if err := c.fits(&next); err != nil {
			return nil, err
		}
		err = m.update(func(r *record) {
			now := m.s.now()
			if r.Meter.running() {
				r.Meter.halt(now)
				r.Meter.run(now, &next)
			}
			r.Meter.drop(now)
			r.Meter.disk(now, &next)
			r.Resources = next
			r.note(m.s, "info", "machine resized")
		})
		return m.json(), err
	})
}

// resized are the new resources, if they may follow upon the old ones.
func resized(r resources, req *resizeRequest) (resources, error) {
	if req.CPUs == nil && req.MemoryMB == nil && req.DiskGB == nil {
		return r, unprocessable("nothing to resize: give cpus, memoryMb or diskGb")
	}
	disk := valueOr(r.DiskGB, imageDisk)
	switch {
	case req.CPUs != nil && *req.CPUs == 0, req.MemoryMB != nil && *req.MemoryMB == 0, req.DiskGB != nil && *req.DiskGB == 0:
		return r, unprocessable("cpus, memoryMb and diskGb must be positive")
	case req.MemoryMB != nil && *req.MemoryMB < r.MemoryMB:
		return r, unprocessable("memory can only grow: the machine has %d MiB", r.MemoryMB)
	case req.DiskGB != nil && *req.DiskGB < disk:
		return r, unprocessable("the disk can only grow: the machine has %d GB", disk)
	case req.DiskGB != nil && *req.DiskGB > maxDiskGB:
		return r, unprocessable("resources.diskGb must be between 1 and %d", maxDiskGB)
	}
	r.CPUs, r.MemoryMB = valueOr(req.CPUs, r.CPUs), valueOr(req.MemoryMB, r.MemoryMB)
	if req.DiskGB != nil {
		r.DiskGB = req.DiskGB
	}
	return r, nil
}
