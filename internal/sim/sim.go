// Package sim is what the stand-ins of the services and the guests behind them have in common: the services (sim/local, sim/cloud) speak a
// wire contract, the guests (sim/sandbox, sim/script) run commands, and neither knows the other.
package sim

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"time"
)

// Guest makes machines that run commands.
type Guest interface {
	// Boot starts the machine whose state lies in b.Dir, making what is missing there. It returns when commands can run. If any step
	// of it fails nothing is left running.
	Boot(ctx context.Context, b *Boot) (Instance, error)
	// Adopt returns the instance that another process left running in dir, or ErrNotRunning. A guest whose instances die with their process
	// always returns ErrNotRunning.
	Adopt(ctx context.Context, dir string) (Instance, error)
	// Copy copies the disks in the state directory src to dst, which does not exist yet. An instance running in src is frozen by the caller.
	Copy(ctx context.Context, dst, src string) error
	// Remove deletes a state directory; no instance runs in it.
	Remove(dir string) error
	// Supported returns nil if machines can be booted here, else the cause and the remedy.
	Supported() error
}

// Boot says what to boot.
type Boot struct {
	// Dir is the state directory, 0700 and ours.
	Dir string
	// Name is the machine's name; a lower-case DNS label becomes its host name.
	Name string
	// Image is the OCI reference, "" for a bare machine. It chooses the userland.
	Image string
	// Mounts are host directories to show.
	Mounts []Mount
}

// Mount shows the host directory Source at the guest path Target, refusing writes if ReadOnly.
type Mount struct {
	Source, Target string
	ReadOnly       bool
}

// Instance is a machine that runs. Its methods are safe for concurrent use.
type Instance interface {
	// Start starts a command. A program or directory that does not exist is an error matching fs.ErrNotExist; a file that cannot be
	// executed matches fs.ErrPermission; a user that this guest cannot be matches ErrNoUser.
	Start(ctx context.Context, c *Command) (Process, error)
	// ReadFile opens a regular file; fs.ErrNotExist and ErrNotRegular match what they say.
	ReadFile(path string) (io.ReadCloser, fs.FileInfo, error)
	// WriteFile replaces the file atomically, making parents: owner root, mode 0644. A path with ".." is refused.
	WriteFile(path string, r io.Reader) (int64, error)
	// Dial connects to a TCP port on the machine's own 127.0.0.1.
	Dial(ctx context.Context, port int) (net.Conn, error)
	// Freeze halts every process of the machine, Thaw lets them go on.
	Freeze() error
	Thaw() error
	// PID is the host process the machine is; it is 0 for a guest without one.
	PID() int
	// Console is everything the machine said while booting; the caller keeps it as the console log.
	Console() string
	// Kill ends the machine and returns when every process in it is gone.
	Kill() error
	// Release lets go of the instance without ending it.
	Release() error
	// Done is closed when the machine has ended, however it ended.
	Done() <-chan struct{}
}

// Command is one command for an instance.
type Command struct {
	// Argv is the command; Argv[0] is looked up in the PATH of Env.
	Argv []string
	// Env is the whole environment, NAME=value. Nil: the guest's default (HOME=/root, PATH, TERM).
	Env []string
	// Dir is the working directory; "" means "/".
	Dir string
	// User is a name or uid[:gid]; "" means root.
	User string
	// Stdin, Stdout and Stderr as in os/exec: nil is the null device. Files are handed over without a copy.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// TTY gives the command a terminal of Rows by Cols, with output to Stdout.
	TTY        bool
	Rows, Cols int
	// WaitOutput bounds how long Process.Wait waits for output still held open by children after the command itself ended: negative: for
	// ever (a bare machine), zero: not at all.
	WaitOutput time.Duration
	// Tied ends the command, with its process group, when the process that called Start goes away, however it went: a guest whose machines
	// outlive their server watches the connection. Without it the command lives until it ends or the machine does.
	Tied bool
}

// Process is a command that was started, in a session and process group of its own.
type Process interface {
	// PID is its process id inside the machine.
	PID() int
	// Wait returns the exit code, 128+n for a death by signal n, once the command ended and its output is written. The error says that
	// the machine or the connection to it went away.
	Wait() (int, error)
	// Signal sends the Linux signal to the command's process group.
	Signal(sig int) error
	// Resize changes the size of its terminal.
	Resize(rows, cols int) error
}

// Reach says which processes a kill is for.
type Reach int

// The reaches of a kill.
const (
	// ReachGroup is the command's process group.
	ReachGroup Reach = iota
	// ReachSelf is the command alone; what it started lives on.
	ReachSelf
	// ReachTree is the command and every descendant of it, in whatever session.
	ReachTree
)

// Controlled is implemented by a [Process] of a guest that has real processes. Without it a process ends when Wait returns, and a kill is
// for its group.
type Controlled interface {
	// Exited is closed when the command itself has ended; output held open by its children may still come.
	Exited() <-chan struct{}
	// Kill sends SIGKILL.
	Kill(Reach) error
}

// Configured is implemented by an [Instance] whose image says what a command sees by default.
type Configured interface {
	// Config is never changed while the instance runs.
	Config() Config
}

// Config is what an image says of the commands run in it. Its zero value says nothing.
type Config struct {
	// Env is the image's environment, NAME=value.
	Env []string
	// Dir is its working directory, User its user.
	Dir, User string
	// Argv is its own command, entry point first.
	Argv []string
}

// Errors of guests.
var (
	// ErrNotRunning: no instance runs in that state directory.
	ErrNotRunning = errors.New("machine is not running")
	// ErrNotRegular: the path is a directory or a special file.
	ErrNotRegular = errors.New("not a regular file")
	// ErrNoUser: the guest cannot run as that user.
	ErrNoUser = errors.New("cannot run as that user")
	// ErrNoImage: the image cannot be pulled.
	ErrNoImage = errors.New("image not found")
)
