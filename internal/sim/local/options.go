package local

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
)

// DefaultVersion is the release that a server plays unless told otherwise.
const DefaultVersion = "1.14.5"

// Options are the knobs of a [Server]. All but Guest and DataDir have useful zero values, which are the real service's behaviour.
type Options struct {
	// Guest makes the machines. Required.
	Guest sim.Guest
	// DataDir holds the records and the machines' directories. Required; made 0700 if missing. Never let two servers have the same one at
	// the same time.
	DataDir string
	// Version is the release to play, X.Y.Z. It decides the policies that differ between releases: unknown create fields (refused from
	// 1.22.2), an image without a network (refused before 1.23.0), branches and checkpoints (from 1.14.0), sync (from 1.14.2), pause (from
	// 1.18.0), whether a branch freezes its source (before 1.18.2), the stale lock after a failed pull (up to 1.14.5), a body-less start
	// with a JSON content type (accepted from 1.21.0) and the image in answers (after 1.14.5). Empty: DefaultVersion.
	Version string
	// Stdout gets the lines that the service prints at its start about machines found. Nil: discarded.
	Stdout io.Writer
	// Log gets what the service only logs, such as a workload that cannot be launched. Nil: discarded.
	Log *slog.Logger
	// Wrap, unless nil, is put between the listeners of [Server.Serve] and the server, as a fault.Injector's Wrap is.
	Wrap func(http.Handler) http.Handler

	// Supervisor is the interval of the background supervisor, which also ticks once at the start. Zero: 5 s. Negative: never.
	Supervisor time.Duration
	// RestartUnit is the unit of the back-off between restarts: 2^n units. Zero: 1 s.
	RestartUnit time.Duration
	// Timeout is how long a request may take up to its response headers; then it is answered 408 and what it began goes on. Zero: 300 s.
	Timeout time.Duration
	// KeepAlive is the interval of comments in idle event streams. Zero: 15 s.
	KeepAlive time.Duration
	// Probe is how long a call waits for one of the machine's eight connections before it takes the machine for dead and reboots it; reads
	// of the state wait half of it. Zero: 6 s.
	Probe time.Duration
	// Grace is how long output held open by children counts after the command itself has ended (image machines), or after its time-out
	// (bare machines). Zero: 5 s.
	Grace time.Duration
	// LogPoll is how often a followed log is read. Zero: 100 ms.
	LogPoll time.Duration
	// Shutdown bounds how long [Server.Shutdown] waits for requests in flight, beside its context. Zero: not at all, as through 1.14.
	Shutdown time.Duration

	// Pull is called for each image pull, with the reference as it was sent; its error is the reason of the failure, and the time it takes
	// is the pull's. It must return when ctx ends. Nil: references that contain "missing" fail.
	Pull func(ctx context.Context, image string) error
	// KeepLargeUploads turns off the trap that an upload of more than 1 MiB to an image machine lands elsewhere unless it is for /workspace.
	KeepLargeUploads bool
	// UploadRace turns on the trap that an upload into memory-backed paths of an image machine is lost until a command has run since boot.
	UploadRace bool
	// KeepDead turns off the trap that a machine recorded as running whose process is dead is deleted, disks included, when the next server
	// starts; it is recorded as stopped instead.
	KeepDead bool
}

// withDefaults returns a copy of o with zero values replaced.
func (o *Options) withDefaults() (Options, error) {
	if o == nil || o.Guest == nil {
		return Options{}, errors.New("local: Options.Guest is not set")
	}
	if o.DataDir == "" {
		return Options{}, errors.New("local: Options.DataDir is not set")
	}
	c := *o
	if c.Version == "" {
		c.Version = DefaultVersion
	}
	if c.Stdout == nil {
		c.Stdout = io.Discard
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		value *time.Duration
		zero  time.Duration
	}{
		{&c.Supervisor, 5 * time.Second},
		{&c.RestartUnit, time.Second},
		{&c.Timeout, 300 * time.Second},
		{&c.KeepAlive, 15 * time.Second},
		{&c.Probe, 6 * time.Second},
		{&c.Grace, 5 * time.Second},
		{&c.LogPoll, 100 * time.Millisecond},
	} {
		if *d.value == 0 {
			*d.value = d.zero
		}
	}
	if c.Pull == nil {
		c.Pull = pullUnlessMissing
	}
	return c, nil
}
