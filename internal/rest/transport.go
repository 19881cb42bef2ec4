package rest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// idleConns is how many connections are kept for reuse: the calls that eight busy machines have in flight, and more.
	idleConns = 128
	// idleTime is below the time after which servers close idle connections, so that a request seldom meets one that is closing.
	idleTime = 10 * time.Second
	// replyTime is how long a failed write waits for the reply that may explain it.
	replyTime = 250 * time.Millisecond
)

// callerKey finds the context of the call that a connection is dialled for.
type callerKey struct{}

// NewTransport returns a transport over dial: no proxy whatever the environment says, no transparent compression, connections
// kept for a short time. It has no time limits; those are the caller's context and dial's own.
func NewTransport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, release := boundToCaller(ctx)
			defer release()
			c, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &patientConn{Conn: c, ended: make(chan struct{})}, nil
		},
		DisableCompression:  true,
		MaxIdleConns:        idleConns,
		MaxIdleConnsPerHost: idleConns,
		IdleConnTimeout:     idleTime,
		WriteBufferSize:     32 << 10,
	}
}

// boundToCaller ends ctx with the call that dials. net/http lets a dial go on after its request was given up, since another may have a
// use for the connection; one that waits for a service to start would go on for long.
func boundToCaller(ctx context.Context) (context.Context, func()) {
	caller, ok := ctx.Value(callerKey{}).(context.Context)
	if !ok {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(caller, func() { cancel(context.Cause(caller)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// patientConn holds back the error of a write for a moment. A server that refuses an upload answers and closes while the upload
// is still being written; net/http takes whatever it sees first, the failed write or the answer, and only the answer says why.
type patientConn struct {
	net.Conn
	once  sync.Once
	ended chan struct{} // closed when the connection was closed or has no more to read
}

// Read reads, and notes the end of what can be read.
func (c *patientConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.end()
	}
	return n, err
}

// Write writes; should that fail it first lets the reader come to its end.
func (c *patientConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		t := time.NewTimer(replyTime)
		defer t.Stop()
		select {
		case <-c.ended:
		case <-t.C:
		}
	}
	return n, err
}

// Close closes the connection.
func (c *patientConn) Close() error {
	c.end()
	return c.Conn.Close()
}

func (c *patientConn) end() { c.once.Do(func() { close(c.ended) }) }
