package cloud

import "encoding/json"

// json is the view as it is sent. It is kept for as long as nothing can change in it by itself.
func (m *machine) json() json.RawMessage {
	m.mu.Lock()
	kept, still := m.rendered, m.vm == nil && !m.starting
	if kept != nil && still {
		m.mu.Unlock()
		return kept
	}
	version := m.version
	m.mu.Unlock()
	b := m.s.encode(m.view())
	m.mu.Lock()
	defer m.mu.Unlock()
	if still && m.vm == nil && !m.starting && m.version == version {
		m.rendered = b
	}
	return b
}

// encode makes JSON of a view, as the release that is played has it.
func (s *Server) encode(w *machineView) json.RawMessage {
	old := s.o.Old
	if old.Running && w.State == stateStarted {
		w.State = "running"
	}
	out := marshal(w)
	if !old.NoReady && !old.NoLabels && !old.ForkOnly {
		return out
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(out, &fields)
	drop := func(yes bool, names ...string) {
		for _, n := range names {
			if yes {
				delete(fields, n)
			}
		}
	}
	drop(old.NoReady, "ready", "readyAt")
	drop(old.NoLabels, "labels")
	drop(old.ForkOnly, "branchable", "branchState", "branchGeneration", "rootBranchId")
	if old.ForkOnly {
		var can forkAbilities
		_ = json.Unmarshal(fields["capabilities"], &can)
		fields["capabilities"] = marshal(can)
	}
	return marshal(fields)
}
