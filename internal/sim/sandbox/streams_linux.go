package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim"
)

// streams are stdin, stdout and stderr of a command, on our side.
type streams struct {
	// guest are the descriptors for the machine, mine says which of them are ours to close.
	guest [3]int
	mine  [3]bool
	// sent says which there are at all.
	sent [3]bool
	// keep holds the caller's files, so that their descriptors stay open until they have been passed on.
	keep []*os.File

	input    *os.File // what stdin is written to
	stdin    io.Reader
	outputs  []*output
	terminal *os.File
}

// output is a pipe, or a terminal, that is copied to a writer.
type output struct {
	from *os.File
	to   io.Writer
	// done is closed when the copying has ended; then cut says that it was cut short, and err why a write failed.
	done chan struct{}
	cut  bool
	err  error
}

// Read reads from the command. Its end is also that nobody has the terminal open any more, or that the copying is cut.
func (o *output) Read(b []byte) (int, error) {
	n, err := o.from.Read(b)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		o.cut = true
		return n, io.EOF
	case errors.Is(err, unix.EIO):
		return n, io.EOF
	}
	return n, err
}

// openStreams takes files as they are and makes pipes for the rest.
func openStreams(c *sim.Command) (*streams, error) {
	s := &streams{}
	if c.TTY {
		return s, nil
	}
	err := s.openInput(c.Stdin)
	if err == nil {
		err = s.openOutput(1, c.Stdout)
	}
	if err == nil && c.Stdout != nil && sameWriter(c.Stdout, c.Stderr) {
		s.guest[2], s.sent[2] = s.guest[1], true // one pipe, so that the writer is called by one goroutine
	} else if err == nil {
		err = s.openOutput(2, c.Stderr)
	}
	if err != nil {
		s.closeGuestSide()
		s.abandon()
		return nil, err
	}
	return s, nil
}

func (s *streams) openInput(r io.Reader) error {
	if r == nil {
		return nil
	}
	s.sent[0] = true
	if f, ok := r.(*os.File); ok {
		return s.take(0, f)
	}
	p, err := pipe()
	if err != nil {
		return err
	}
	s.guest[0], s.mine[0] = p[0], true
	s.input, s.stdin = os.NewFile(uintptr(p[1]), "stdin"), r
	return nil
}

func (s *streams) openOutput(fd int, w io.Writer) error {
	if w == nil {
		return nil
	}
	s.sent[fd] = true
	if f, ok := w.(*os.File); ok {
		return s.take(fd, f)
	}
	p, err := pipe()
	if err != nil {
		return err
	}
	s.guest[fd], s.mine[fd] = p[1], true
	s.outputs = append(s.outputs, &output{from: os.NewFile(uintptr(p[0]), "output"), to: w, done: make(chan struct{})})
	return nil
}

// take uses the caller's own file.
func (s *streams) take(fd int, f *os.File) error {
	s.guest[fd] = int(f.Fd()) // in blocking mode from here on, as a command expects
	if s.guest[fd] < 0 {
		return &fs.PathError{Op: "start", Path: f.Name(), Err: os.ErrClosed}
	}
	s.keep = append(s.keep, f)
	return nil
}

// pipe makes a pipe whose end for the command blocks, as commands expect, unlike both ends of [os.Pipe]; the other one becomes
// non-blocking so that it can be given up.
func pipe() (p [2]int, err error) {
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return p, os.NewSyscallError("pipe2", err)
	}
	return p, nil
}

// files returns the descriptors to send.
func (s *streams) files() (files []int) {
	for fd, sent := range s.sent {
		if sent {
			files = append(files, s.guest[fd])
		}
	}
	return files
}

// closeGuestSide closes our copies of what the command has, without which its end would not be seen.
func (s *streams) closeGuestSide() {
	for fd, mine := range s.mine {
		if mine {
			unix.Close(s.guest[fd])
		}
	}
	s.mine, s.keep = [3]bool{}, nil
}

// useTerminal takes over the master side of the command's terminal.
func (s *streams) useTerminal(master int, c *sim.Command) {
	unix.SetNonblock(master, true)
	s.terminal = os.NewFile(uintptr(master), "terminal")
	s.input, s.stdin = s.terminal, c.Stdin
	to := c.Stdout
	if to == nil {
		to = io.Discard
	}
	s.outputs = append(s.outputs, &output{from: s.terminal, to: to, done: make(chan struct{})})
}

func (s *streams) resize(rows, cols int) error {
	if s.terminal == nil {
		return syscall.ENOTTY
	}
	raw, err := s.terminal.SyscallConn()
	if err != nil {
		return err
	}
	size := &unix.Winsize{Row: cells(rows), Col: cells(cols)}
	e := raw.Control(func(fd uintptr) { err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size) })
	return errors.Join(e, err)
}

// copy starts to copy.
func (s *streams) copy() {
	if s.stdin != nil {
		go s.feed()
	}
	for _, o := range s.outputs {
		go o.copy()
	}
}

// feed copies stdin. That the command did not read it all is no error.
func (s *streams) feed() {
	io.Copy(s.input, s.stdin)
	if s.input != s.terminal { // a terminal has no end of file but a character for it
		s.input.Close()
	}
}

func (o *output) copy() {
	defer close(o.done)
	if _, o.err = io.Copy(o.to, o); o.err != nil {
		o.from.Close() // the writer failed: then the command's own writes must not wait for it
	}
}

// finish returns when the output has been written, giving children that hold it open no longer than limit, if that is not
// negative. What is in the pipe by then is still written.
func (s *streams) finish(limit time.Duration) error {
	if s.input != nil && s.input != s.terminal {
		s.input.Close() // nobody reads it any more
	}
	if limit >= 0 {
		timer := time.AfterFunc(limit, s.cut)
		defer timer.Stop()
	}
	var errs []error
	for _, o := range s.outputs {
		<-o.done
		if o.cut && o.err == nil {
			o.err = o.drain()
		}
		errs = append(errs, o.err)
		o.from.Close()
	}
	return errors.Join(errs...)
}

// cut ends the copying.
func (s *streams) cut() {
	for _, o := range s.outputs {
		o.from.SetReadDeadline(time.Now())
	}
}

// drain writes what is in the pipe, and no more: a child may be filling it.
func (o *output) drain() error {
	o.from.SetReadDeadline(time.Time{})
	raw, err := o.from.SyscallConn()
	if err != nil {
		return err
	}
	var left int
	e := raw.Control(func(fd uintptr) { left, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	if err := errors.Join(e, err); err != nil {
		return err
	}
	_, err = io.Copy(o.to, io.LimitReader(o, int64(left)))
	return err
}

// abandon closes our side of a command that did not start.
func (s *streams) abandon() {
	if s.input != nil {
		s.input.Close()
	}
	for _, o := range s.outputs {
		o.from.Close()
	}
}

// sameWriter reports whether both are one writer, as far as they can be compared.
func sameWriter(a, b io.Writer) bool {
	defer func() { _ = recover() }()
	return a == b
}
