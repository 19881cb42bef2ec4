// Package guest is what runs inside machines on the library's behalf: a POSIX sh script that keeps commands alive beyond the exec
// that started them (the runner), and one that works on files. This side of it builds the argv of an exec and reads
// the reply; [Parse] reads such an argv back, for guests that answer in Go.
//
// The scripts need a POSIX sh and the tools of busybox. They are run on dash, bash and busybox ash.
package guest

import (
	"errors"
	"time"
)

// Where the runner keeps its files: the first of the bases that can be used. BaseWorkspace must be left out when a mount of the
// host covers it, or the user's directory fills with our files.
const (
	BaseWorkspace = "/workspace/.smol"
	BaseFallback  = "/var/tmp/.smol"
)

const (
	// MaxArgs is how many bytes of argv and environment, with the quotes of a shell, go into the exec itself; above it they
	// go to the machine as a file first.
	MaxArgs = 96 << 10
	// MaxArg is the most bytes of one argument, or of one NAME=value, that Linux takes.
	MaxArg = 128<<10 - 1
	// MaxNote is the most bytes of a note.
	MaxNote = 4 << 10
)

// State is what a job is doing.
type State string

// The states of a job.
const (
	Running  State = "running"
	Exited   State = "exited"
	TimedOut State = "timed_out"
	// Signaled is used only where the signal was ours.
	Signaled State = "signaled"
	// Lost: whoever was to write down the end is gone, and the end is not written down, or what is cannot be read.
	Lost State = "lost"
	// Ready is the state of the reply to a [Setup].
	Ready State = "ready"
)

// Start asks the machine to run a command detached from the exec and to wait a little for it. Starting an id that exists
// starts nothing: it is a poll of that job from its beginning.
type Start struct {
	// ID names the job: letters, digits, '-' and '_', at most 128. See [NewID].
	ID string
	// Bases are the candidates for the base, best first.
	Bases []string
	// Argv is the command. Its output goes to files: a command that opens /dev/stdout or /dev/stderr anew without appending
	// truncates what it wrote before, as it would every file.
	//
	// Env is added to its environment as NAME=value, over what was stored in the machine. The command
	// further finds SMOL_JOB=ID in its environment.
	Argv, Env []string
	// Dir is the working directory. Empty: the stored one, else that of the exec. A command whose directory cannot be entered
	// exits with 126 and says "cd: ..." on its standard error.
	Dir string
	// Stdin is a file of the machine, which is removed once it has been opened. Empty: the null device.
	Stdin string
	// Timeout ends the command with everything it started. Zero: none.
	Timeout time.Duration
	// Limit is the most bytes of a stream: a command that writes more is killed with everything it started, as [Signaled], and what is beyond
	// is cut off. Zero: none.
	Limit int64
	// Note is one line that a [List] tells. Empty: none.
	Note string
	// Ack names jobs whose output has been read and whose files may go. A job that runs is left alone.
	Ack []string
	// View says what to wait for and how much of the output to return.
	View View

	// args and script are the files that hold argv and environment, or the text of a sh -c, of a start read back by Parse.
	args, script string
}

// View says what to wait for and how much output to return.
type View struct {
	// Stdout and Stderr are the offsets from which output is wanted, in bytes.
	Stdout, Stderr int64
	// Wait is how long to wait for the job to end.
	Wait time.Duration
	// News ends the wait as soon as there is output beyond the offsets.
	News bool
	// Budget is the most bytes to return of a stream.
	Budget int64
	// Clip returns the first two thirds of the budget and the last third when there is more than the budget. Without it the first Budget
	// bytes from the offset are returned, and the rest is for the next poll.
	Clip bool
	// Hush returns no output as long as the job runs, for a wait that goes on with another poll.
	Hush bool
}

// Poll asks after a job.
type Poll struct {
	ID    string
	Bases []string
	View  View
}

// Signal sends a signal to a job's command and its process group, or with KILL to everything that the job started. A job that has
// not been started yet never will be: its id is taken.
type Signal struct {
	ID    string
	Bases []string
	// Signal is a name without "SIG".
	Signal string
	// Known leaves the id of a job that is not there alone, with [ErrNoJob], and refuses with [ErrEnded] a signal for one that has ended, except
	// KILL, which is for what the job has left running.
	Known bool
}

// Setup makes the base and stores env and directory for every later command, replacing what was stored. With a nil Env and
// without a Dir it only makes the base, which shows that commands can run in the machine.
type Setup struct {
	Bases []string
	Env   map[string]string
	Dir   string
}

// File is a file that has to be in the machine before an exec. The runner removes it.
type File struct {
	Path string
	Data []byte
}

// Reply is what the runner answered.
type Reply struct {
	State State
	// Code is the exit code of a job that ended, 128+n for a death by signal.
	Code int
	// StdoutSize and StderrSize are the sizes of the whole streams.
	StdoutSize, StderrSize int64
	// Started and Ended are readings of the machine's uptime clock. Ended is the present for a job that runs.
	Started, Ended time.Duration
	// Base is the base in use; the job's files are Base/ID.* there, its output Base/ID.out and Base/ID.err.
	Base string
	// Stdout and Stderr are the parts returned.
	Stdout, Stderr Part
}

// Part is a piece of a stream: Data from Offset on; when Dropped is not zero so many bytes are missing after the first Head bytes
// of Data.
type Part struct {
	Offset  int64
	Data    []byte
	Head    int
	Dropped int64
}

// Next is the offset that follows p.
func (p *Part) Next() int64 { return p.Offset + int64(len(p.Data)) + p.Dropped }

// Errors of the runner.
var (
	// ErrNoShell: the reply is not the runner's; the machine has no usable sh.
	ErrNoShell = errors.New("the machine has no POSIX shell")
	// ErrNoJob: there is no job of that id.
	ErrNoJob = errors.New("no such job")
	// ErrNoBase: none of the bases can be written, or their disks are full. No command has been run.
	ErrNoBase = errors.New("no directory in the machine can be written for the command's files")
	// ErrShort: the reply ends before the output that it announces, because it was cut on its way or because somebody
	// truncated the file meanwhile. A poll can be repeated.
	ErrShort = errors.New("the reply of the machine is cut short")
	// ErrNotText: an argument is not UTF-8 or holds a NUL byte, which no wire carries. The error names it.
	ErrNotText = errors.New("not UTF-8 text without NUL")
	// ErrEnded: the job has ended, and cannot be sent a signal.
	ErrEnded = errors.New("the job has ended")
	// ErrBusy: the job runs, and cannot be removed.
	ErrBusy = errors.New("the job runs")
	// ErrStuck: not all files of the jobs that are removed could be. The error names their directory.
	ErrStuck = errors.New("files of the job cannot be removed")
	// ErrPattern: the machine's grep does not understand the pattern.
	ErrPattern = errors.New("not a regular expression that the machine's grep understands")
	// ErrNoTool: the machine has no grep.
	ErrNoTool = errors.New("the machine has no grep")
)
