package smoltest

// Request is a request that the stand-in has seen.
type Request struct {
	// Method and Path are as sent, the path with its escapes; Query is what followed the question mark.
	Method, Path, Query string
	// Status is that of the response, 0 as long as there is none.
	Status int
	// Sent is how many bytes of the response's body were written so far.
	Sent int64
}
