package cloud

// history answers with what has happened to the machine, the oldest first.
func (c *call) history() (any, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	rec, _ := m.snapshot()
	return append([]historyEntry{}, rec.History...), nil
}
