package smol

// State is what a machine is doing. The zero value means that the fleet has not said. A word that the library does
// not know is passed through unchanged, so a newer service does not break an older client; see [Info.RawState].
type State string

// The states of both fleets in one set. The cloud's "started" is StateRunning.
const (
	// StateCreating: the record exists, the machine is being prepared.
	StateCreating State = "creating"
	// StateStopped: not running. A machine that was created and never started is stopped too.
	StateStopped State = "stopped"
	// StateStarting: booting.
	StateStarting State = "starting"
	// StateRunning: the machine is up. Whether commands run in it yet is [Info.Ready] or [Machine.WaitReady].
	StateRunning State = "running"
	// StatePausing: memory and disks are being saved.
	StatePausing State = "pausing"
	// StatePaused: memory and disks are saved and the machine does not run until it is resumed.
	StatePaused State = "paused"
	// StateFrozen: the machine is the base of live branches and cannot run on; older services only.
	StateFrozen State = "frozen"
	// StateUnreachable: the machine's process lives and its agent does not answer.
	StateUnreachable State = "unreachable"
	// StateFailed: the machine could not be started.
	StateFailed State = "failed"
	// StateDeleted: the machine is gone.
	StateDeleted State = "deleted"
)
