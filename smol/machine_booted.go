package smol

// Booted reports whether a call of this handle found the machine stopped and booted it, as commands and the calls for files do.
// [Machine.Start] does not count.
func (m *Machine) Booted() bool { return m.booted.Load() }
