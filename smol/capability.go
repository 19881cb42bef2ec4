package smol

import "errors"

// Capability is something that not every fleet can do. See [Fleet.Supports].
type Capability string

// The capabilities. What a fleet lacks fails with an error that matches errors.ErrUnsupported. A service can still refuse a
// capability of its fleet, because its version or its platform lacks it.
const (
	// CapabilityBranch is [Machine.Branch].
	CapabilityBranch Capability = "branch"
	// CapabilityImages is [Machine.PullImage].
	CapabilityImages Capability = "images"
	// CapabilityStream is [Machine.Stream].
	CapabilityStream Capability = "stream"
	// CapabilityLogs is [Machine.Logs].
	CapabilityLogs Capability = "logs"
	// CapabilityFiles is a way for files that does not lead through commands. Files can be read and written without it, more
	// slowly.
	CapabilityFiles Capability = "files"
)

// Supports reports whether the fleet has the capability. It does no I/O; false for a capability it does not know.
func (f *Fleet) Supports(c Capability) bool {
	ok := false
	switch c {
	case CapabilityBranch:
		_, ok = find[BranchBackend](f.backend)
	case CapabilityImages:
		_, ok = find[ImageBackend](f.backend)
	case CapabilityStream:
		_, ok = find[StreamBackend](f.backend)
	case CapabilityLogs:
		_, ok = find[LogBackend](f.backend)
	case CapabilityFiles:
		_, ok = find[FileBackend](f.backend)
	}
	return ok
}

// find returns the first backend that implements T, of b and those it wraps.
func find[T any](b Backend) (T, bool) {
	for b != nil {
		if t, ok := b.(T); ok {
			return t, true
		}
		u, ok := b.(interface{ Unwrap() Backend })
		if !ok {
			break
		}
		b = u.Unwrap()
	}
	var none T
	return none, false
}

// unsupported says that the fleet cannot do op, and what can be done instead.
func (f *Fleet) unsupported(op, machine, what, hint string) error {
	return &Error{
		Op: op, Machine: machine, Code: CodeUnsupported, Err: errors.ErrUnsupported,
		Message: "the " + f.traits.Fleet + " fleet has no " + what, Hint: hint,
	}
}
