package ledger

// RecordPath is where the record is.
func (l *Ledger) RecordPath() string { return l.path("machines.json") }
