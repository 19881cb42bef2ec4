package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/smol-machines/smol-go/internal/sim"
)

// The requests that the agent answers. Each goes over a connection of its own, and the connection is the life of what it
// asked for: when it is cut, a command that is tied to its caller is killed, a write is undone, a frozen machine thaws.
const (
	opHello  = "hello"  // who are you? answered with the boot identity
	opStart  = "start"  // with up to 3 descriptors; answered when the command runs, and again when it ended
	opKeep   = "keep"   // follows opStart: the command may outlive its caller
	opSignal = "signal" // to the process group of a command
	opKill   = "kill"   // of a command, its group or its tree
	opRead   = "read"   // answered with the descriptor of a regular file
	opWrite  = "write"  // answered with the descriptor of a new file, which opCommit puts in its place
	opCommit = "commit" // follows opWrite
	opDial   = "dial"   // answered with the descriptor of a connection
	opFreeze = "freeze" // answered when every process stands still
	opThaw   = "thaw"   // follows opFreeze
)

// request is what the caller asks. Bytes of the caller are []byte, as JSON would change a string that is not UTF-8.
type request struct {
	Op     string
	Path   []byte        `json:",omitempty"`
	Port   int           `json:",omitempty"`
	ID     uint64        `json:",omitempty"`
	Signal int           `json:",omitempty"`
	Reach  sim.Reach     `json:",omitempty"`
	Start  *startRequest `json:",omitempty"`
}

// startRequest is a command.
type startRequest struct {
	Argv, Env  [][]byte
	DefaultEnv bool
	Dir, User  []byte
	// Streams says what stdin, stdout and stderr are. Descriptors go both ways in that order.
	Streams    [3]stream
	TTY        bool
	Rows, Cols uint16
}

// stream is what a command has as one of its descriptors.
type stream int

const (
	streamNull stream = iota
	// streamFile comes with the request.
	streamFile
	// streamPipe is a pipe that the agent makes, whose other end comes with the reply. Made in the machine, it belongs to it, and
	// the command can open it again as /dev/stdout.
	streamPipe
	// streamSame is, for stderr, what stdout is.
	streamSame
)

// reply is what the agent answers.
type reply struct {
	Error  *wireError `json:",omitempty"`
	BootID string     `json:",omitempty"`
	// Console is what the machine said while booting.
	Console string   `json:",omitempty"`
	Env     []string `json:",omitempty"`
	// ID is the agent's own number of a command: unlike PID it is never used again.
	ID  uint64 `json:",omitempty"`
	PID int    `json:",omitempty"`
	// Status is the wait status of a command that ended.
	Status *uint32 `json:",omitempty"`
}

// wireError is an error on its way from the agent. It keeps what callers ask after: the errno, the path and our own kinds.
type wireError struct {
	Kind  string `json:",omitempty"`
	Op    string `json:",omitempty"`
	Path  []byte `json:",omitempty"`
	Errno int    `json:",omitempty"`
	Text  string `json:",omitempty"`
}

// kinds are the errors that cross the wire by name.
var kinds = map[string]error{
	"not regular": sim.ErrNotRegular,
	"no user":     sim.ErrNoUser,
	"done":        os.ErrProcessDone,
}

func toWire(err error) *wireError {
	w := &wireError{Text: err.Error()}
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		w.Op, w.Path, w.Text = p.Op, []byte(p.Path), p.Err.Error()
	}
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		w.Errno = int(errno)
	}
	for kind, e := range kinds {
		if errors.Is(err, e) {
			w.Kind = kind
		}
	}
	return w
}

// err is the error again.
func (w *wireError) err() error {
	var err error = &remoteError{text: w.Text, errno: syscall.Errno(w.Errno), kind: kinds[w.Kind]}
	if w.Errno != 0 && w.Text == syscall.Errno(w.Errno).Error() {
		err = syscall.Errno(w.Errno)
	}
	if w.Op == "" {
		return err
	}
	return &fs.PathError{Op: w.Op, Path: string(w.Path), Err: err}
}

// remoteError is an error with a text of its own that matches an errno and one of kinds.
type remoteError struct {
	text  string
	errno syscall.Errno
	kind  error
}

func (e *remoteError) Error() string { return e.text }

func (e *remoteError) Unwrap() []error {
	var errs []error
	if e.errno != 0 {
		errs = append(errs, e.errno)
	}
	if e.kind != nil {
		errs = append(errs, e.kind)
	}
	return errs
}
