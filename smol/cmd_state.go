package smol

import (
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// CmdState tells how a command ended. See [Cmd.State].
type CmdState struct {
	// ExitCode is the exit code, 128+n for a death by signal n, 124 when TimedOut.
	ExitCode int
	// Signal is the signal that ended the command, if this library sent it; see [ExitError.Signal].
	Signal Signal
	// TimedOut reports that [Cmd.Timeout] ended the command.
	TimedOut bool
	// Duration is how long the command ran, by the machine's clock, which ticks in hundredths of a second.
	Duration time.Duration
	// Missing says which of the promises of [Cmd] could not be kept, and why: the machine has no POSIX shell, for instance, so that the
	// command died with the connection. It is empty as a rule.
	Missing string
}

// timedOutCode is the exit code of a command that ran out of time, as that of timeout(1).
const timedOutCode = 124

// codeHints explains exit codes that are easily misread.
var codeHints = map[int]string{
	126: "the program, or the working directory, is there but cannot be used",
	127: "the program was not found in the machine; look at its PATH",
	137: "killed by SIGKILL: often the machine has run out of memory",
	139: "a segmentation fault",
	143: "killed by SIGTERM, or the program exits so itself",
}

// finish turns the last reply into what Wait returns.
func (r *run) finish(reply *guest.Reply) error {
	if !r.kept {
		r.m.guest.ack(r.start.ID)
	}
	if reply.State == guest.Lost {
		return lostCommand()
	}
	state := &CmdState{ExitCode: reply.Code, Duration: reply.Ended - reply.Started}
	switch reply.State {
	case guest.TimedOut:
		state.TimedOut, state.ExitCode = true, timedOutCode
	case guest.Signaled:
		state.Signal = signalNamed(reply.Code - 128)
	}
	return r.conclude(state)
}

// lostCommand says that nobody knows how a command ended.
func lostCommand() error {
	return &Error{
		Code: CodeUnavailable, Message: "the command is lost: it was gone before its end could be written down",
		Hint: "the machine was restarted, or the command's files or what keeps it were removed in it",
	}
}

// forgottenCommand says that a machine does not know a command any more.
func forgottenCommand() error {
	return &Error{
		Code: CodeUnavailable, Err: guest.ErrNoJob,
		Message: "the command is lost: the machine does not know it any more; it was deleted and replaced by another one, or the command's files were removed in it",
	}
}

// conclude sets the state and returns the error that it means.
func (r *run) conclude(state *CmdState) error {
	r.state = state
	if state.ExitCode != 0 || state.TimedOut {
		hint := codeHints[state.ExitCode]
		if state.Signal != "" || state.TimedOut {
			hint = ""
		}
		exit := &ExitError{
			Code: state.ExitCode, Signal: state.Signal, TimedOut: state.TimedOut, Stderr: r.err.clipped(), Hint: hint,
		}
		if state.TimedOut {
			exit.Timeout = r.start.Timeout
		}
		return exit
	}
	if r.out.err != nil {
		return r.out.err
	}
	return r.err.err
}
