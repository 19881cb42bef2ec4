package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/smol-machines/smol-go/internal/sim/disks"
)

type branchMachineRequest struct {
	Name       string             `serde:"name"`
	Ports      *[]portSpec        `serde:"ports"`
	Branchable bool               `serde:"branchable|forkable,default"`
	Freeze     bool               `serde:"freezeSource,default"`
	Labels     *map[string]string `serde:"labels"`
}

type branchBatchRequest struct {
	Count      *uint32            `serde:"count"`
	Names      *[]string          `serde:"names"`
	NamePrefix *string            `serde:"namePrefix"`
	Ports      *[]portSpec        `serde:"ports"`
	Branchable bool               `serde:"branchable|forkable,default"`
	Freeze     bool               `serde:"freezeSource,default"`
	Labels     *map[string]string `serde:"labels"`
}

func (c *call) branch() (any, error) {
	var req branchMachineRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	list, err := c.branches(&branchBatchRequest{
		Names: &[]string{req.Name}, Ports: req.Ports, Branchable: req.Branchable, Freeze: req.Freeze, Labels: req.Labels,
	})
	if err != nil {
		return nil, err
	}
	return reply{http.StatusCreated, list[0].json()}, nil
}

func (c *call) branchBatch() (any, error) {
	var req branchBatchRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	list, err := c.branches(&req)
	if err != nil {
		return nil, err
	}
	clones := []any{}
	for _, m := range list {
		clones = append(clones, m.json())
	}
	return reply{http.StatusCreated, map[string]any{"clones": clones}}, nil
}

// names are those of a batch: given, or made of a prefix and a number.
func (req *branchBatchRequest) names(source string) ([]string, error) {
	if req.Names != nil && len(*req.Names) > 0 {
		if len(*req.Names) > maxBatch {
			return nil, unprocessable("at most %d branches can be made at once", maxBatch)
		}
		return *req.Names, nil
	}
	n := valueOr(req.Count, 0)
	if n < 1 || n > maxBatch {
		return nil, unprocessable("count must be between 1 and %d", maxBatch)
	}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d", valueOr(req.NamePrefix, source), i+1))
	}
	return names, nil
}

// branches makes the children of the machine that the path names, all or none.
func (c *call) branches(req *branchBatchRequest) ([]*machine, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	if err := c.payable(); err != nil {
		return nil, err
	}
	return exclusive(c, m, func() ([]*machine, error) {
		rec, v := m.snapshot()
		switch {
		case !rec.Branchable:
			return nil, conflict("machine is not branchable; create it with branchable")
		case v == nil || rec.State != stateStarted:
			return nil, conflict("machine is not running")
		}
		children, err := c.children(&rec, req)
		if err != nil {
			return nil, err
		}
		release, err := c.reserve(children)
		if err != nil {
			return nil, err
		}
		list, err := m.bear(v, children, req.Freeze)
		if err != nil {
			release()
		}
		return list, err
	})
}

// children are the records of the branches to be.
func (c *call) children(parent *record, req *branchBatchRequest) ([]*record, error) {
	names, err := req.names(parent.Name)
	if err != nil {
		return nil, err
	}
	ports := make([]port, 0, len(parent.Ports))
	for _, p := range parent.Ports {
		ports = append(ports, port{Port: p.Port})
	}
	if len(valueOr(req.Ports, nil)) > 0 {
		if ports, err = checkPorts(*req.Ports); err != nil {
			return nil, err
		}
	}
	labels := parent.Labels
	if req.Labels != nil {
		if labels, err = c.checkLabels(*req.Labels); err != nil {
			return nil, err
		}
	}
	var list []*record
	for _, name := range names {
		if err := checkName(name); err != nil {
			return nil, err
		}
		child := *parent
		child.Name, child.Ports, child.Labels, child.Branchable = name, ports, labels, req.Branchable
		child.State, child.Frozen, child.Used, child.Checkpoint, child.Share, child.Links = stateStopped, false, false, "", "", ""
		child.Parent, child.Generation, child.Meter, child.History, child.Sessions = parent.ID, parent.Generation+1, meter{}, nil, nil
		list = append(list, &child)
	}
	return list, nil
}

// bear copies the disks of a machine that runs and boots the children on them. It leaves nothing behind when it fails. The caller holds
// the machine's lock, and the children's names are reserved.
func (m *machine) bear(v *vm, children []*record, freeze bool) ([]*machine, error) {
	s := m.s
	for _, child := range children {
		s.christen(child)
	}
	err := m.copyTo(v, children, freeze)
	var list []*machine
	for _, child := range children {
		if err != nil {
			break
		}
		baby := s.newMachine(child)
		if baby.vm, err = baby.boot(child); err == nil {
			list = append(list, baby)
		}
	}
	if err == nil {
		err = s.settle(list)
	}
	if err == nil {
		return list, m.update(func(r *record) { r.note(s, "info", "%d branches made", len(list)) })
	}
	for _, baby := range list {
		err = errors.Join(err, baby.vm.inst.Kill())
	}
	for _, child := range children {
		err = errors.Join(err, s.store.Remove(child.ID), s.discard(child.ID))
	}
	return nil, fail(http.StatusBadGateway, "the machine could not be branched: %v", err)
}

// copyTo gives the children the disks of m, which is still while they are copied, and afterwards too if it is to be frozen.
func (m *machine) copyTo(v *vm, children []*record, freeze bool) error {
	s := m.s
	rec, _ := m.snapshot()
	err := v.inst.Freeze()
	for _, child := range children {
		if err == nil {
			err = s.store.Prepare(child.ID)
		}
		if err == nil {
			err = s.o.Guest.Copy(context.WithoutCancel(s.tasks.Context()), s.store.Guest(child.ID), s.store.Guest(m.id))
		}
		if err == nil && rec.Cache != nil {
			err = disks.Copy(s.ownCache(child.ID), s.ownCache(m.id))
		}
	}
	if err == nil && freeze && !rec.Frozen {
		return m.update(func(r *record) {
			r.Frozen = true
			r.Meter.halt(s.now())
			r.note(s, "info", "machine frozen as the base of branches")
		})
	}
	if rec.Frozen {
		return err
	}
	return errors.Join(err, v.inst.Thaw())
}

// settle makes the children known, which run already.
func (s *Server) settle(list []*machine) error {
	for _, baby := range list {
		if err := s.store.Save(&baby.rec); err != nil {
			return err
		}
	}
	for _, baby := range list {
		s.add(baby)
		v := baby.vm
		if err := baby.commit(v, func(*record) {}); err != nil {
			baby.mu.Lock()
			baby.vm = nil
			baby.mu.Unlock()
			return err
		}
	}
	return nil
}

// lineage answers with all machines that have the same root.
func (c *call) lineage() (any, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	rec, _ := m.snapshot()
	root := rec.Root
	if root == "" {
		root = rec.ID
	}
	list := []any{}
	for _, other := range c.all() {
		if r, _ := other.snapshot(); other.account == m.account && (r.Root == root || r.ID == root) {
			list = append(list, other.json())
		}
	}
	return map[string]any{"rootMachineId": root, "machines": list}, nil
}
