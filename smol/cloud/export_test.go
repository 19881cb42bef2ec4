package cloud

import "time"

// OriginLabel is the label that machines made here carry.
const OriginLabel = originLabel

// Hurry makes the waits between questions, and between tries, short.
func (b *Backend) Hurry() {
	b.pauses = pauses{first: time.Millisecond, most: time.Millisecond}
	b.retry.SetFirstWait(time.Millisecond)
}

// IsLocalAddr reports whether a connection that carries the key in the clear may go there.
var IsLocalAddr = isLocalAddr

// Backend is the backend of the service.
func (s *Service) Backend() *Backend { return s.backend }

// Row is a row of the table of operations.
type Row struct{ Name, Method, Path, Policy, Reason string }

// Table is the table of operations.
func Table() []Row {
	var rows []Row
	for _, o := range operations {
		rows = append(rows, Row{o.name, o.method, o.path, o.policy.String(), o.reason})
	}
	return rows
}
