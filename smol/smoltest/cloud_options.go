package smoltest

import (
	"context"
	"fmt"
	"slices"
	"time"

	simcloud "github.com/smol-machines/smol-go/internal/sim/cloud"
)

// CloudOptions are the knobs of [NewCloud]. Nil and the zero value make a service that behaves as the cloud's newest release does, with machines
// that run real commands.
type CloudOptions struct {
	// Guest is what the machines are. Nil: Sandbox().
	Guest Guest
	// Token is the key that may do everything a key may. Empty: one made up, which [Cloud.Token] tells.
	Token string
	// Keys are further keys.
	Keys []CloudKey
	// Faults are there from the first request on; see [Local.Fault].
	Faults []Fault
	// Clock is the time by which machines are billed, stopped and deleted. Nil: the system's.
	Clock *Clock

	// Errors is the shape of error bodies. Empty: ErrorsProblem.
	Errors ErrorStyle
	// Old makes it an older release. The zero value is the newest, OldestCloud() the oldest.
	Old OldCloud
	// DefaultNetwork is the mode of a machine whose create does not say: "open", or "blocked" as older releases had it. Empty: "open".
	DefaultNetwork string
	// OpenInfo answers questions about prices and the state of the service without a key, as its description says. It was seen to ask for one.
	OpenInfo bool
	// DetachStarts answers every start with 202 and no body before the machine boots.
	DetachStarts bool
	// StartedConflict answers the start of a machine that runs with 409 instead of 200.
	StartedConflict bool
	// MirrorImages tells the source of a machine from an image without a registry as the library's mirror of it, which the service does.
	MirrorImages bool
	// NestedVirt offers nested virtualization.
	NestedVirt bool
	// ConnectGetOnly makes the connect bridge take only GET and HEAD, as it was seen to do.
	ConnectGetOnly bool
	// FilesStatus is what a service without routes for files answers to them: 404, 405 or 501. Zero: it has them.
	FilesStatus int
	// PlainLogs sends console logs as plain lines instead of as events.
	PlainLogs bool

	// Plan is what the account may use and what that costs. Nil: a plan without ceilings that a test would meet by accident.
	Plan *CloudPlan
	// Credit is the prepaid credit in micros, millionths of a dollar; without credit, whatever costs is answered 402. Zero: a hundred dollars.
	// Negative: none.
	Credit int64
	// Suspended answers everything with 402 but the questions who one is and what one owes.
	Suspended bool
	// Rate is how many requests may come in each RatePeriod; the others are answered 429 with Retry-After. Zero: any number.
	Rate int
	// RatePeriod is the period of Rate. Zero: 1 minute.
	RatePeriod time.Duration

	// Sweep is how often the service looks after its machines. Zero: 15 seconds. Negative: only when [Cloud.Sweep] is called.
	Sweep time.Duration
	// Sample is how often CPU and memory of a machine that runs are metered. Zero: 5 minutes.
	Sample time.Duration
	// IdleStop is after how long without use a machine stops that publishes a port and does not say itself when to stop. Zero: 30 minutes.
	// Negative: never.
	IdleStop time.Duration
	// ReadyDelay is how long after its boot a machine becomes ready. Zero: at once. Negative: never.
	ReadyDelay time.Duration
	// ReapEphemeral deletes ephemeral machines that were never started, too, when the service looks after its machines.
	ReapEphemeral bool
	// KeepAlive is how often an idle event stream gets a comment. Zero: 15 seconds.
	KeepAlive time.Duration
	// Grace is how long output that children hold open counts after their command has ended. Zero: 5 seconds.
	Grace time.Duration
	// LogPoll is how often a console that is followed is read. Zero: 100 ms.
	LogPoll time.Duration
	// PartSize is how large the parts of an uploaded checkpoint are, in bytes. Zero: 8 MiB.
	PartSize int64

	// Pull is called before each boot with the image, which fails with its error and takes as long as it does. It must return when ctx ends. Nil:
	// images whose names contain "missing" fail.
	Pull func(ctx context.Context, image string) error
	// Arch is the architecture of the machines, amd64 or arm64. Empty: this host's.
	Arch string
}

// CloudKey is a key that the stand-in of the cloud accepts besides [CloudOptions.Token].
type CloudKey struct {
	// Token is the key. Required.
	Token string
	// Account is whose machines it is for. Empty: the account of [CloudOptions.Token].
	Account string
	// Scopes are what it may do, "machine:read" for example. Nil: all that a key may. Empty but not nil: nothing, and it is refused.
	Scopes []string
	// Expires is when it is refused, by the clock of the stand-in. Zero: never.
	Expires time.Time
}

// CloudPlan is what an account may use and what that costs, in micros. A ceiling of zero is none.
type CloudPlan struct {
	// Name is told in refusals. Empty: Test.
	Name string
	// MaxCPUs, MaxMemoryMiB and MaxDiskGiB are for one machine.
	MaxCPUs, MaxMemoryMiB, MaxDiskGiB int
	// MaxMachines counts all machines, MaxConcurrentMachines those that run.
	MaxMachines, MaxConcurrentMachines int
	// BaseHour, CPUHour, MemoryGiBHour and DiskGiBHour are the prices of an hour: of a machine that runs, of a CPU and a GiB of memory of it, and
	// of a GiB of disk, which costs while the machine is stopped, too.
	BaseHour, CPUHour, MemoryGiBHour, DiskGiBHour int64
	// AlwaysOn keeps machines that publish a port from being stopped when they are idle, unless they ask for it.
	AlwaysOn bool
}

// ErrorStyle is a shape that error bodies have.
type ErrorStyle string

// The shapes that the service has had.
const (
	// ErrorsProblem is application/problem+json: type, title, status, detail and code.
	ErrorsProblem = ErrorStyle(simcloud.StyleProblem)
	// ErrorsCodeError is {"code":…,"error":…}, ErrorsErrorCode the same with the error first, ErrorsMessage {"message":…}.
	ErrorsCodeError = ErrorStyle(simcloud.StyleCodeError)
	ErrorsErrorCode = ErrorStyle(simcloud.StyleErrorCode)
	ErrorsMessage   = ErrorStyle(simcloud.StyleMessage)
	// ErrorsText is plain text, ErrorsEmpty nothing at all.
	ErrorsText  = ErrorStyle(simcloud.StyleText)
	ErrorsEmpty = ErrorStyle(simcloud.StyleEmpty)
)

// OldCloud says in what a release of the cloud is older than the newest.
type OldCloud struct {
	// NoUser drops the user of a command without a word.
	NoUser bool
	// NoB64 leaves the exact bytes of output out.
	NoB64 bool
	// NoLabels drops labels, NoLabelFilter ignores the filter of a list.
	NoLabels, NoLabelFilter bool
	// NoReady does not tell whether a machine is ready.
	NoReady bool
	// NoHosts drops the host names of a network.
	NoHosts bool
	// NoPolicy ignores the network of a restore.
	NoPolicy bool
	// NoFinalUsage does not tell the bill at a delete.
	NoFinalUsage bool
	// ForkOnly knows branches by the name of forks only.
	ForkOnly bool
	// Running says "running" for "started".
	Running bool
	// Wrapped puts lists of machines in an object.
	Wrapped bool
}

// OldestCloud is a release that is older in every way.
func OldestCloud() OldCloud { return OldCloud(simcloud.Oldest()) }

// Clock is the time of a stand-in of the cloud. It stands still until it is told to go on.
type Clock struct{ fake *simcloud.FakeClock }

// NewClock returns a clock that shows start, or, if that is zero, noon of 4 October 2026 in UTC.
func NewClock(start time.Time) *Clock { return &Clock{simcloud.NewFakeClock(start)} }

// Now returns what the clock shows.
func (c *Clock) Now() time.Time { return c.fake.Now() }

// Advance lets time pass. Everything that falls due in it has been done when it returns.
func (c *Clock) Advance(d time.Duration) { c.fake.Advance(d) }

// guestOr is the guest, or the default one.
func (o *CloudOptions) guestOr() Guest {
	if o == nil || o.Guest == nil {
		return Sandbox()
	}
	return o.Guest
}

// server are the options of the stand-in.
func (o *CloudOptions) server() (simcloud.Options, error) {
	s := simcloud.Options{
		Token: o.Token, Errors: simcloud.ErrorStyle(o.Errors), Old: simcloud.Old(o.Old), DefaultNetwork: o.DefaultNetwork, OpenInfo: o.OpenInfo,
		DetachStarts: o.DetachStarts, StartedConflict: o.StartedConflict, MirrorImages: o.MirrorImages, NestedVirt: o.NestedVirt,
		ConnectGetOnly: o.ConnectGetOnly, FilesStatus: o.FilesStatus, PlainLogs: o.PlainLogs, Credit: o.Credit, Rate: o.Rate, RatePeriod: o.RatePeriod,
		Sweep: o.Sweep, Sample: o.Sample, IdleStop: o.IdleStop, ReadyDelay: o.ReadyDelay, ReapEphemeral: o.ReapEphemeral, KeepAlive: o.KeepAlive,
		Grace: o.Grace, LogPoll: o.LogPoll, PartSize: o.PartSize, Pull: o.Pull, Arch: o.Arch,
	}
	if s.Token == "" {
		s.Token = simcloud.NewToken()
	}
	if o.Clock != nil {
		s.Clock = o.Clock.fake
	}
	if o.Suspended {
		s.Suspended = []string{simcloud.DefaultAccount}
	}
	if o.Plan != nil {
		p := o.Plan.plan()
		s.Plan = &p
	}
	for i, k := range o.Keys {
		if k.Token == s.Token || slices.ContainsFunc(o.Keys[:i], func(other CloudKey) bool { return other.Token == k.Token }) {
			return s, fmt.Errorf("CloudOptions.Keys[%d] has the same token as another key", i)
		}
		s.Keys = append(s.Keys, simcloud.Key(k))
	}
	return s, nil
}

func (p *CloudPlan) plan() simcloud.Plan {
	s := simcloud.DefaultPlan()
	s.ID, s.Name, s.IsDefault = "plan-test", p.Name, false
	if s.Name == "" {
		s.Name = "Test"
	}
	s.MaxCPUs, s.MaxMemoryMB, s.MaxMachines, s.MaxConcurrentMachines = p.MaxCPUs, p.MaxMemoryMiB, p.MaxMachines, p.MaxConcurrentMachines
	if s.MaxDiskGB = nil; p.MaxDiskGiB > 0 {
		s.MaxDiskGB = &p.MaxDiskGiB
	}
	s.RateBaseHourMicros, s.RateCPUHourMicros, s.RateMemoryGBHourMicros, s.RateDiskGBHourMicros = p.BaseHour, p.CPUHour, p.MemoryGiBHour, p.DiskGiBHour
	s.AllowAlwaysOn = p.AlwaysOn
	return s
}
