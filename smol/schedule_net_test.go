package smol_test

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"
)

// pipeNet is a network of one address, in memory: within package synctest only what waits on memory lets the time go on.
type pipeNet struct {
	addr net.Addr
	// window is how long a dial is tried again while nobody listens, as the local fleet's own dialler does.
	window time.Duration

	mu       sync.Mutex
	listener *pipeListener
}

// pipeListener accepts what is dialled until it is closed.
type pipeListener struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen replaces the listener, which was closed if there was one.
func (n *pipeNet) Listen() (net.Listener, error) {
	l := &pipeListener{addr: n.addr, conns: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener = l
	return l, nil
}

func (l *pipeListener) Addr() net.Addr { return l.addr }

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// dial is for an http.Transport.
func (n *pipeNet) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	for began := time.Now(); ; {
		n.mu.Lock()
		l := n.listener
		n.mu.Unlock()
		client, server := net.Pipe()
		select {
		case l.conns <- server:
			return client, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-l.closed:
		}
		if time.Since(began) >= n.window {
			return nil, &net.OpError{Op: "dial", Net: network, Addr: n.addr, Err: syscall.ECONNREFUSED}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
