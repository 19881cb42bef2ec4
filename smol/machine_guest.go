package smol

import "sync"

// guestState is what a handle knows about the inside of its machine.
type guestState struct {
	mu   sync.Mutex
	base string   // where the runner said that it keeps its files; "" until then
	acks []string // commands whose output has been read and whose files may go
}
