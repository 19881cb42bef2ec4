package smol

import "time"

// Info is what a fleet said about a machine when it was asked. Zero fields were not told. It holds no inputs: what is
// wanted is a [Spec].
type Info struct {
	// Name is the name the machine was created with; on a fleet that allows unnamed machines it may be empty.
	Name string
	// ID is what the fleet knows the machine by. Locally that is the name.
	ID string
	// State is the state in the vocabulary of both fleets, RawState the fleet's own word for it.
	State    State
	RawState string
	// Ready reports that the fleet itself says commands can run. A fleet without that notion leaves it false;
	// [Machine.WaitReady] asks the machine.
	Ready bool
	// Reason is why a machine failed, in the fleet's words.
	Reason string
	// Image is the image as the fleet reports it.
	Image string
	// Resources are the resolved sizes.
	Resources Resources
	// Network is the egress policy in force.
	Network Network
	// Ports are the published ports, Mounts the mounted host directories.
	Ports  []Port
	Mounts []Mount
	// Labels are what a fleet that has labels keeps with the machine.
	Labels map[string]string
	// Branchable reports whether [Machine.Branch] can use the machine as its source.
	Branchable bool
	// PID is the host process of a local machine.
	PID int
	// URL is the address of the first published port of a cloud machine.
	URL string
	// CreatedAt is when the machine was created. StopsAt and DeletesAt are when the fleet will stop or delete it.
	CreatedAt time.Time
	StopsAt   time.Time
	DeletesAt time.Time
}
