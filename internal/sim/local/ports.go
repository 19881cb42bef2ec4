package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/smol-machines/smol-go/internal/sim"
)

// forwards are the published ports of a machine that runs: listeners on the host's loopback.
type forwards struct {
	ctx       context.Context
	cancel    context.CancelFunc
	mu        sync.Mutex
	listeners []net.Listener
	conns     map[net.Conn]bool
	closed    bool
	work      sync.WaitGroup
}

// listen binds the host ports, all or none.
func listen(ports []port) (*forwards, error) {
	f := &forwards{conns: map[net.Conn]bool{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	for _, p := range ports {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p.Host))
		if err != nil {
			f.close()
			return nil, err
		}
		f.listeners = append(f.listeners, l)
	}
	return f, nil
}

// wsaAddrInUse is what Windows calls EADDRINUSE; package syscall has a number of its own for that name.
const wsaAddrInUse = syscall.Errno(10048)

// bindError is the text of a failure to bind.
func bindError(err error) string {
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, wsaAddrInUse) {
		return "Address already in use (os error 98)"
	}
	return err.Error()
}

// serve begins to hand connections to the machine; it stops when the machine ends.
func (f *forwards) serve(inst sim.Instance, ports []port) {
	for i, l := range f.listeners {
		f.work.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				f.work.Go(func() { f.splice(inst, conn, int(ports[i].Guest)) })
			}
		})
	}
	go func() {
		select {
		case <-inst.Done():
			f.close()
		case <-f.ctx.Done():
		}
	}()
}

// track notes an open connection; once the forwards are closed it refuses and closes it.
func (f *forwards) track(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		c.Close()
		return false
	}
	f.conns[c] = true
	return true
}

func (f *forwards) drop(c net.Conn) {
	c.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}

// splice copies between a connection on the host and the port in the machine, passing on the end of either direction.
func (f *forwards) splice(inst sim.Instance, host net.Conn, guestPort int) {
	if !f.track(host) {
		return
	}
	defer f.drop(host)
	guest, err := inst.Dial(f.ctx, guestPort)
	if err != nil {
		return
	}
	if !f.track(guest) {
		return
	}
	defer f.drop(guest)
	var both sync.WaitGroup
	both.Go(func() { pour(guest, host) })
	both.Go(func() { pour(host, guest) })
	both.Wait()
}

func pour(dst, src net.Conn) {
	_, _ = io.Copy(dst, src)
	if half, ok := dst.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = dst.Close()
}

// close stops listening and cuts what is open. It may be called more than once, and on nil.
func (f *forwards) close() {
	if f == nil {
		return
	}
	f.cancel()
	f.mu.Lock()
	f.closed = true
	for _, l := range f.listeners {
		l.Close()
	}
	for c := range f.conns {
		c.Close()
	}
	f.mu.Unlock()
	f.work.Wait()
}
