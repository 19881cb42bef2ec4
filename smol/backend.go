package smol

import (
	"context"
	"io"
	"iter"
	"time"
)

// Backend is one fleet as [Fleet] sees it: the few calls that both services have, in one vocabulary. It grows only by
// optional interfaces ([FileBackend], [StreamBackend], [LogBackend], [BranchBackend], [ImageBackend], [OriginBackend]), which
// Fleet finds on the backend itself or on one that it reaches through Unwrap() Backend. Users of this package need it only to write a
// fleet of their own.
//
// Obligations:
//
//  1. Every method is safe for concurrent use and returns soon after its context ends.
//  2. Every error is an [*Error], a [*StateError], or wraps the context's error. An *Error that says nothing certain about
//     whether the service did the work has Status 0, 408 or 5xx.
//  3. Nothing that changes something is sent twice, unless the second can change nothing that the first has not, as a stop or a delete by
//     an id that is never given again.
//  4. Ids are those the fleet itself gave; a backend still refuses one that would leave its place in a URL.
//  5. Arguments are not written and not kept.
type Backend interface {
	// Traits says what the fleet is. It does no I/O.
	Traits() Traits
	// Create makes the record of a machine. It does not boot it, though a fleet may.
	Create(ctx context.Context, spec *Spec) (*Info, error)
	// Inspect returns the machine that ref names, by id or else by name. It matches [ErrNotFound] when there is none.
	Inspect(ctx context.Context, ref string) (*Info, error)
	// List yields all machines of the fleet that carry the labels. The first error ends the sequence.
	List(ctx context.Context, labels map[string]string) iter.Seq2[*Info, error]
	// Start boots the machine; one that runs is left as it is.
	Start(ctx context.Context, id string, opts *StartOptions) (*Info, error)
	// Stop shuts the machine down; one that does not run is left as it is.
	Stop(ctx context.Context, id string, opts *StopOptions) (*Info, error)
	// Delete removes the machine and its disks. It matches [ErrNotFound] when there is none.
	Delete(ctx context.Context, id string, opts *DeleteOptions) error
	// Exec runs a command to its end and returns its output, in exact bytes. It may boot a machine that does not run.
	Exec(ctx context.Context, id string, req *ExecRequest) (*ExecResult, error)
	// Close releases what the backend holds. It stops no machine.
	Close() error
}

// Traits says what a fleet is and which of its habits [Fleet] has to make up for.
type Traits struct {
	// Fleet is the fleet's name in errors: "local" or "cloud".
	Fleet string
	// Endpoint names the service; machines of the same endpoint and id share one limit of calls in flight.
	Endpoint string
	// MaxInFlight is how many calls a machine bears at once. Zero: no limit.
	MaxInFlight int
	// KeepsEnv reports that env and directory given at create reach every command. Where they do not, Fleet stores them in the
	// machine.
	KeepsEnv bool
	// MaxExec is the longest that one exec may take. Zero: no limit.
	MaxExec time.Duration
	// MaxUpload is the most bytes that one upload can carry. Zero: no limit.
	MaxUpload int64
	// MaxBlindUpload is the most bytes that an upload outside of /workspace is known to carry safely. Zero: MaxUpload.
	MaxBlindUpload int64
	// MaxDownload is the most bytes that one download can carry. Zero: no limit.
	MaxDownload int64
}

// ExecRequest is one command on the fleet's own wire. [Machine.Command] is built on it.
type ExecRequest struct {
	// Argv is the command; there is no shell.
	Argv []string
	// Env is added to the environment of the command, as NAME=value.
	Env []string
	// Dir is the working directory; empty: the fleet's default.
	Dir string
	// User runs the command as another user; empty: the machine's own. A fleet that cannot refuses it.
	User string
	// Timeout ends the command. Zero: none.
	Timeout time.Duration
}

// ExecResult is how a command on the fleet's own wire ended.
type ExecResult struct {
	// ExitCode is 0 to 255; 128+n for a death by signal n, 124 when Timeout ended the command.
	ExitCode int
	// Stdout and Stderr are the whole output.
	Stdout, Stderr []byte
}

// FileBackend is implemented by a fleet that moves whole files. Without it Fleet moves them through commands; so it does when a
// method fails with an error matching errors.ErrUnsupported.
type FileBackend interface {
	// Upload writes size bytes (-1: not known before) from r to the absolute path, making its parents. What becomes of mode and owner
	// is not promised.
	Upload(ctx context.Context, id, path string, r io.Reader, size int64) error
	// Download opens the file at the absolute path and tells its size, or -1. It matches fs.ErrNotExist if there is none.
	Download(ctx context.Context, id, path string) (io.ReadCloser, int64, error)
}

// StreamBackend is implemented by a fleet that sends output while a command runs.
type StreamBackend interface {
	// Stream runs a command and yields its output as it comes, and last an [Event] with its exit code. A sequence that ends
	// without it has yielded an error.
	Stream(ctx context.Context, id string, req *ExecRequest) iter.Seq2[Event, error]
}

// LogBackend is implemented by a fleet that keeps the machine's console.
type LogBackend interface {
	// Logs yields the lines of the console.
	Logs(ctx context.Context, id string, opts *LogOptions) iter.Seq2[string, error]
}

// BranchBackend is implemented by a fleet that branches machines.
type BranchBackend interface {
	// Branch makes a running copy of the machine, with its memory and disks.
	Branch(ctx context.Context, id, child string, opts *BranchOptions) (*Info, error)
}

// OriginBackend is implemented by a fleet that can tell which of its machines this very program has made. Fleet asks when the answer to a create
// or a branch was lost and there is a machine of that name. Without it, it compares the time that the fleet tells with its own, and clocks
// differ.
type OriginBackend interface {
	// MadeSince reports whether the machine was made by a Create or Branch of this backend that began at began or later. Known is false if
	// the fleet cannot tell.
	MadeSince(ctx context.Context, id string, began time.Time) (made, known bool, err error)
}

// ImageBackend is implemented by a fleet that pulls further images into a machine.
type ImageBackend interface {
	// PullImage pulls an image into the machine.
	PullImage(ctx context.Context, id, image string) (*Image, error)
}

// Image is an OCI image that lies in a machine.
type Image struct {
	// Reference is the normalised name, Digest that of the image's configuration.
	Reference, Digest string
	// Size is the unpacked size in bytes.
	Size int64
	// Architecture and OS are those of the image.
	Architecture, OS string
	// Layers is how many layers it has.
	Layers int
}
