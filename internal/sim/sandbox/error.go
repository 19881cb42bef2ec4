package sandbox

// Error says why there is no machine: which step of making it failed, why, and what can be done about it.
type Error struct {
	// Step is what was being done, such as "mount /proc".
	Step string
	// Err is the cause. System calls that failed match their [syscall.Errno] through errors.Is.
	Err error
	// Remedy is what a human can do about it. Empty: nothing is known that would help.
	Remedy string
}

// Error names the step, the cause and the remedy.
func (e *Error) Error() string {
	s := "sandbox: " + e.Step + ": " + e.Err.Error()
	if e.Remedy != "" {
		s += " (" + e.Remedy + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
