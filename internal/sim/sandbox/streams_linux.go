package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim"
)

// terminalGrace is what the output of a terminal may take to arrive: unlike that of a pipe it is passed on in the background.
const terminalGrace = 100 * time.Millisecond

// streams are stdin, stdout and stderr of a command, on our side.
type streams struct {
	kinds    [3]stream
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

// planStreams decides what the streams are, and returns the descriptors to be passed on: files are taken as they are, the rest
// is copied.
func planStreams(c *sim.Command) (s *streams, files []int, err error) {
	s = &streams{}
	if c.TTY {
		return s, nil, nil
	}
	for i, v := range []any{c.Stdin, c.Stdout, c.Stderr} {
		f, isFile := v.(*os.File)
		switch {
		case v == nil:
			s.kinds[i] = streamNull
		case i == 2 && c.Stdout != nil && sameWriter(c.Stdout, c.Stderr):
			s.kinds[i] = streamSame // so that one goroutine calls the writer
		case isFile && f == nil:
			return nil, nil, fmt.Errorf("stream %d is a nil *os.File: %w", i, fs.ErrInvalid)
		case isFile:
			fd := int(f.Fd()) // in blocking mode from here on, as a command expects
			if fd < 0 {
				return nil, nil, &fs.PathError{Op: "start", Path: f.Name(), Err: os.ErrClosed}
			}
			s.kinds[i] = streamFile
			files = append(files, fd)
		default:
			s.kinds[i] = streamPipe
		}
	}
	return s, files, nil
}

// use takes over our ends of pipes, or the master side of the command's terminal.
func (s *streams) use(files []int, c *sim.Command) error {
	want := 0
	for _, kind := range s.kinds {
		if kind == streamPipe {
			want++
		}
	}
	if c.TTY {
		want = 1
	}
	if len(files) != want {
		return fmt.Errorf("the agent sent %d descriptors instead of %d with a command", len(files), want)
	}
	if c.TTY {
		s.terminal = pollable(files[0], "terminal")
		s.input, s.stdin = s.terminal, c.Stdin
		to := c.Stdout
		if to == nil {
			to = io.Discard
		}
		s.outputs = []*output{{from: s.terminal, to: to, done: make(chan struct{})}}
		return nil
	}
	for i, kind := range s.kinds {
		if kind != streamPipe {
			continue
		}
		end := pollable(files[0], "pipe")
		files = files[1:]
		if i == 0 {
			s.input, s.stdin = end, c.Stdin
			continue
		}
		to := c.Stdout
		if i == 2 {
			to = c.Stderr
		}
		s.outputs = append(s.outputs, &output{from: end, to: to, done: make(chan struct{})})
	}
	return nil
}

// pollable makes a file of our end of a pipe, of which reading and writing can be given up. The command's end goes on blocking.
func pollable(fd int, name string) *os.File {
	unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), name)
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
	if s.terminal != nil && limit >= 0 {
		limit = max(limit, terminalGrace)
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

// sameWriter reports whether both are one writer, as far as they can be compared.
func sameWriter(a, b io.Writer) bool {
	defer func() { _ = recover() }()
	return a == b
}
