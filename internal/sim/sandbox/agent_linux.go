package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The descriptors of the agent.
const (
	listenerFD = 3
	// requestTimeout is how long a connection may take to say what it wants.
	requestTimeout = 10 * time.Second
)

// agent is process 1 of a machine.
type agent struct {
	bootID   string
	console  string
	listener *net.UnixListener
	ended    chan os.Signal
	// null is the machine's null device.
	null int
	ids  identityRange
	*children
	// gate is held for reading while something that changes the machine begins, and for writing as long as it is frozen.
	gate sync.RWMutex
}

// open makes ready to run.
func (a *agent) open() error {
	// Instead of "exe", which the process is called after the path it was executed by.
	if err := os.WriteFile("/proc/self/comm", []byte(argv0), 0); err != nil {
		return err
	}
	var err error
	if a.null, err = unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if a.ids, err = readIdentityRange(); err != nil {
		return err
	}
	// Again, so that SO_PEERCRED on the other side of a connection tells this process and not the one that made the socket.
	if err := unix.Listen(listenerFD, unix.SOMAXCONN); err != nil {
		return err
	}
	file := os.NewFile(listenerFD, "listener")
	defer file.Close()
	l, err := net.FileListener(file)
	if err != nil {
		return err
	}
	a.listener = l.(*net.UnixListener)
	// Every signal is caught, or one of a guest's would end the Go program that process 1 is. A handler is reset in the
	// children, an ignored signal would not be. Those that nobody receives are dropped; of SIGCHLD, one is as good as many.
	signal.Notify(make(chan os.Signal, 1))
	a.ended = make(chan os.Signal, 1)
	signal.Notify(a.ended, unix.SIGCHLD)
	return nil
}

// closeOthers closes what the agent does not need.
func (a *agent) closeOthers() error {
	raw, err := a.listener.SyscallConn()
	if err != nil {
		return err
	}
	e := raw.Control(func(fd uintptr) { err = closeAllBut(a.null, int(fd)) })
	return errors.Join(e, err)
}

// run answers requests for ever.
func (a *agent) run() {
	go a.reap(a.ended)
	for {
		c, err := a.listener.AcceptUnix()
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors or memory, which passes
			continue
		}
		go a.serve(c)
	}
}

// serve answers one connection.
func (a *agent) serve(c *net.UnixConn) {
	defer c.Close()
	var req request
	c.SetReadDeadline(time.Now().Add(requestTimeout))
	files, err := readFrame(c, &req)
	if err != nil {
		return // there is nobody to talk to, or somebody who does not speak this
	}
	defer func() { closeAll(files) }()
	c.SetReadDeadline(time.Time{})
	switch req.Op {
	case opHello:
		writeFrame(c, &reply{BootID: a.bootID, Console: a.console, Env: os.Environ()})
	case opStart:
		a.start(c, req.Start, &files)
	case opSignal:
		a.answer(c, a.signal(req.ID, req.Signal))
	case opKill:
		a.answer(c, a.kill(req.ID, req.Reach))
	case opRead:
		a.read(c, string(req.Path))
	case opWrite:
		a.write(c, string(req.Path))
	case opDial:
		a.dial(c, req.Port)
	case opFreeze:
		a.freeze(c)
	default:
		a.answer(c, fmt.Errorf("%q is nothing that the agent does", req.Op))
	}
}

// answer sends the outcome and perhaps descriptors. It reports whether it was sent and is not an error.
func (a *agent) answer(c *net.UnixConn, err error, files ...int) bool {
	r := &reply{}
	if err != nil {
		r.Error, files = toWire(err), nil
	}
	return writeFrame(c, r, files...) == nil && err == nil
}

// dial connects to a port of the machine: a socket keeps the network namespace that it was made in.
func (a *agent) dial(c *net.UnixConn, port int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-gone(c)
		cancel()
	}()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		a.answer(c, err)
		return
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		a.answer(c, err)
		return
	}
	raw.Control(func(fd uintptr) { a.answer(c, nil, int(fd)) })
}

// gone returns a channel that is closed when the caller has gone away, or says something although it is not its turn.
func gone(c *net.UnixConn) <-chan struct{} {
	ch := make(chan struct{})
	go func() {
		defer close(ch)
		c.Read(make([]byte, 1))
	}()
	return ch
}
