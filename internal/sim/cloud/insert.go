package cloud

import "github.com/smol-machines/smol-go/internal/randhex"

// slot is what a name is kept under.
func slot(account, name string) string { return account + "\x00" + name }

// christen gives a new machine what it has from the beginning.
func (s *Server) christen(rec *record) {
	now := s.now()
	rec.ID, rec.CreatedAt, rec.UpdatedAt = "mach-"+randhex.String(16), now, now
	if rec.Branchable && rec.Root == "" {
		rec.Root = rec.ID
	}
	rec.Meter.disk(now, &rec.Resources)
	rec.note(s, "info", "machine created")
}

// insert writes the record of a new machine and makes the machine known, if the name is free and the plan has room.
func (s *Server) insert(rec *record) (*machine, error) {
	s.christen(rec)
	release, err := s.reserve([]*record{rec})
	if err != nil {
		return nil, err
	}
	if err := s.store.Save(rec); err != nil {
		release()
		return nil, err
	}
	m := s.newMachine(rec)
	s.add(m)
	return m, nil
}

// add makes a machine known whose name is reserved.
func (s *Server) add(m *machine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machines[m.id] = m
	s.order = append(s.order, m)
	s.names[slot(m.account, m.rec.Name)] = m.id
	s.making[m.account]--
}

// reserve takes the names of machines to be, all of one account, and their places in the plan, until release is called or they are added.
func (s *Server) reserve(list []*record) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	account, names := list[0].Account, map[string]bool{}
	for _, rec := range list {
		key := slot(account, rec.Name)
		if _, taken := s.names[key]; taken || names[key] {
			return nil, conflict("machine name '%s' is already in use", rec.Name)
		}
		names[key] = true
	}
	held, up := s.census(account)
	if err := s.quota(held+len(list), up+len(list)); err != nil {
		return nil, err
	}
	for _, rec := range list {
		s.seq++
		rec.Seq = s.seq
		s.names[slot(account, rec.Name)] = ""
	}
	s.making[account] += len(list)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for key := range names {
			delete(s.names, key)
		}
		s.making[account] -= len(list)
	}, nil
}
