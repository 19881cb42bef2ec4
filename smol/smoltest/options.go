package smoltest

import (
	"context"
	"time"

	simlocal "github.com/smol-machines/smol-go/internal/sim/local"
)

// Options are the knobs of [NewLocal]. Nil and the zero value make a service that behaves as smolvm 1.14.5 does, over a Unix socket, with
// machines that run real commands.
type Options struct {
	// Guest is what the machines are. Nil: Sandbox().
	Guest Guest
	// TCP serves on a free port of 127.0.0.1 instead of a Unix socket. On Windows it always does.
	TCP bool
	// Version is the release of smolvm to behave as, X.Y.Z. Empty: 1.14.5. Releases differ in what they refuse and in whether they can
	// branch, checkpoint and pause.
	Version string
	// Faults are there from the first request on; see [Local.Fault].
	Faults []Fault

	// Supervisor is how often the service looks after its machines; a machine that was never started becomes "stopped" then. Zero: 5
	// seconds. Negative: never.
	Supervisor time.Duration
	// RestartUnit is the unit of the growing pauses between restarts of a machine that has a restart policy. Zero: 1 second.
	RestartUnit time.Duration
	// Timeout is how long a request may take until its response begins; then it is answered 408 and its work goes on. Zero: 300 seconds.
	Timeout time.Duration
	// KeepAlive is how often an idle event stream gets a comment. Zero: 15 seconds.
	KeepAlive time.Duration
	// Probe is how long a call waits for one of the eight connections of a machine before the machine is taken for dead and rebooted. Zero:
	// 6 seconds.
	Probe time.Duration
	// Grace is how long output that children hold open counts after their command has ended. Zero: 5 seconds.
	Grace time.Duration
	// LogPoll is how often a console that is followed is read. Zero: 100 ms.
	LogPoll time.Duration

	// Pull is called for each pull of an image, which fails with its error and takes as long as it does. It must return when ctx ends. Nil:
	// images whose names contain "missing" fail.
	Pull func(ctx context.Context, image string) error
	// KeepLargeUploads turns off the trap that an upload of more than 1 MiB to an image machine lands elsewhere unless it is for /workspace.
	KeepLargeUploads bool
	// UploadRace turns on the trap that an upload to /tmp, /run or /dev/shm of an image machine is lost until a command has run since its
	// boot.
	UploadRace bool
	// KeepDead turns off the trap that a machine whose process died while no service ran is deleted with its disks.
	KeepDead bool
}

// guestOr is the guest, or the default one.
func (o *Options) guestOr() Guest {
	if o == nil || o.Guest == nil {
		return Sandbox()
	}
	return o.Guest
}

// server are the options of the stand-in.
func (o *Options) server() simlocal.Options {
	return simlocal.Options{
		Version: o.Version, Supervisor: o.Supervisor, RestartUnit: o.RestartUnit, Timeout: o.Timeout, KeepAlive: o.KeepAlive,
		Probe: o.Probe, Grace: o.Grace, LogPoll: o.LogPoll,
		Pull: o.Pull, KeepLargeUploads: o.KeepLargeUploads, UploadRace: o.UploadRace, KeepDead: o.KeepDead,
	}
}
