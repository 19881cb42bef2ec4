package smol

import "time"

// StartOptions are the knobs of [Machine.Start]. Nil and the zero value start the machine as it was created.
type StartOptions struct {
	// Branchable prepares the machine as a source for [Machine.Branch]; a machine created so is always started so.
	Branchable bool
	// RegistryUser and RegistryPassword are used for this start's pull of the image and are not kept.
	RegistryUser, RegistryPassword string
}

// StopOptions are the knobs of [Machine.Stop]; there are none yet.
type StopOptions struct{}

// DeleteOptions are the knobs of [Machine.Delete].
type DeleteOptions struct {
	// Cascade deletes the machine's live branches first. Without it a machine with branches may be refused with [ErrConflict].
	Cascade bool
}

// BranchOptions are the knobs of [Machine.Branch].
type BranchOptions struct {
	// Ports publishes ports of the branch. Empty: those of the source, on free host ports.
	Ports []Port
	// Branchable lets the branch be branched again, where the service can.
	Branchable bool
	// Labels replaces the labels of the source (cloud). Nil: the source's; empty: none.
	Labels map[string]string
	// Unready returns as soon as the fleet has made the branch, before a command has run in it: see [Machine.WaitReady].
	Unready bool
}

// LogOptions are the knobs of [Machine.Logs].
type LogOptions struct {
	// Tail is how many of the newest lines to begin with, at most 10,000. Zero: all that the fleet keeps. Negative: none.
	Tail int
	// Follow goes on with new lines until the context ends.
	Follow bool
}

// WaitOptions are the knobs of [Machine.WaitReady].
type WaitOptions struct {
	// Timeout bounds the wait. Zero: 2 minutes.
	Timeout time.Duration
	// OnState is called when the observed state changes. Nil: nobody is told.
	OnState func(State)
}

// Event is a piece of a running command's output, or its end. See [Machine.Stream].
type Event struct {
	// Stream is "stdout" or "stderr"; empty in the last event.
	Stream string
	// Text is the output; bytes that were not UTF-8 have been replaced on the way.
	Text string
	// Exited reports that the command has ended, with ExitCode.
	Exited   bool
	ExitCode int
}
