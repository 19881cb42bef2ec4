package local

import (
	"net/http"
	"time"
)

// The defaults of Options.
const (
	defaultDialTimeout = 5 * time.Second
	defaultStartWindow = 5 * time.Second
)

// Options say where the service is and how to reach it. Nil and the zero value mean smolvm's own default: the socket
// /tmp/smolvm.sock, or http://127.0.0.1:8080 on Windows. They are copied by New.
type Options struct {
	// URL is where the service listens: unix:///path, just the path, http://127.0.0.1:8080, or just the address and port.
	// "localhost" is taken for 127.0.0.1, which is where smolvm listens; any other host is refused, because the service has no
	// authentication.
	URL string
	// DialTimeout bounds one attempt to connect. Zero: 5 seconds.
	DialTimeout time.Duration
	// StartWindow is how long connecting is tried again while nobody listens, for a service that is about to start. Zero: 5
	// seconds if this client has reached the service before, so that it survives a restart, and otherwise not at all.
	// Negative: not at all.
	StartWindow time.Duration
	// Wrap, if it is not nil, is given the transport and returns the one to use, for example to trace requests.
	Wrap func(http.RoundTripper) http.RoundTripper
}
