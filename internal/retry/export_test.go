package retry

// For the tests of the pure functions.
var (
	Check   = check
	Backoff = backoff
)
