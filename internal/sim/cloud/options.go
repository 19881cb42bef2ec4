package cloud

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
)

// Options are the knobs of a [Server]. Guest, DataDir and a key are required; all others have useful zero values, which are the real
// service's behaviour.
type Options struct {
	// Guest makes the machines. Required.
	Guest sim.Guest
	// DataDir holds the records, the machines' directories and the checkpoints. Required; made 0700 if missing. Never let two servers have the
	// same one at the same time.
	DataDir string
	// Token is a key of the account DefaultAccount with all the scopes that a key may have. Either it or Keys is required.
	Token string
	// Keys are further keys.
	Keys []Key
	// Log gets what the service only logs. Tokens are never logged. Nil: discarded.
	Log *slog.Logger
	// Wrap, unless nil, is put between the listeners of [Server.Serve] and the server, as a fault.Injector's Wrap is.
	Wrap func(http.Handler) http.Handler
	// Clock is the time by which machines are billed, stopped and deleted. Nil: the system's.
	Clock Clock

	// Errors is the shape of error bodies. Empty: StyleProblem.
	Errors ErrorStyle
	// Old makes the server an older release. The zero value is the newest.
	Old Old
	// DefaultNetwork is the mode of a machine whose create does not say: "open", or "blocked" as older releases had it. Empty: "open".
	DefaultNetwork string
	// OpenInfo answers /livez, /readyz, /v1/pricing and /v1/status/machines without a key, as the service's description says. The live service
	// was seen to ask for one; /health never does.
	OpenInfo bool
	// DetachStarts answers every start with 202 and no body before the boot, as a start with detach=true is.
	DetachStarts bool
	// StartedConflict answers the start of a machine that runs with 409 instead of 200.
	StartedConflict bool
	// MirrorImages tells the source of a machine from an image without a registry as the library's mirror of it, which the live service does.
	MirrorImages bool
	// NestedVirt offers nested virtualization; otherwise asking for it is refused.
	NestedVirt bool
	// ConnectGetOnly makes the connect bridge answer 405 to all but GET and HEAD, and 404 to a path that is only a slash, as it was seen to do.
	ConnectGetOnly bool
	// FilesStatus is what a server without the files route answers to it, with an empty body: 404, 405 or 501. Zero: it has the route.
	FilesStatus int
	// PlainLogs sends console logs as plain lines instead of as events.
	PlainLogs bool

	// Plan is what all accounts have. Nil: DefaultPlan().
	Plan *Plan
	// Credit is the prepaid credit of each account in micros. An account whose cost exceeds it gets 402 for everything that costs. Zero: one
	// hundred dollars. Negative: none.
	Credit int64
	// Suspended accounts, by their ids, get 402 for everything but reading who they are.
	Suspended []string
	// Rate is how many requests an account may send in each RatePeriod; the others get 429 with Retry-After. Zero: any number.
	Rate int
	// RatePeriod is the period of Rate. Zero: 1 minute.
	RatePeriod time.Duration

	// Sweep is how often machines that are idle or too old are looked for. Zero: 15 s. Negative: never but by [Server.Sweep].
	Sweep time.Duration
	// Sample is how often CPU and memory are metered while a machine runs; stop and delete always do it. Zero: 5 minutes.
	Sample time.Duration
	// IdleStop is after how long without activity a machine with a published port stops that does not say itself when to stop, unless the plan
	// has always-on. Zero: 30 minutes. Negative: never.
	IdleStop time.Duration
	// ReadyDelay is how long after its boot a machine becomes ready. Zero: at once. Negative: never.
	ReadyDelay time.Duration
	// ReapEphemeral lets the sweep delete ephemeral machines that were never started.
	ReapEphemeral bool
	// KeepAlive is the interval of comments in idle event streams. Zero: 15 s.
	KeepAlive time.Duration
	// Grace is how long output held open by children counts after the command itself has ended. Zero: 5 s.
	Grace time.Duration
	// LogPoll is how often a followed log is read. Zero: 100 ms.
	LogPoll time.Duration

	// PartSize is how large the parts of an uploaded checkpoint are, in bytes. Zero: 8 MiB.
	PartSize int64
	// Pull is called at each boot with the image's reference; its error is the reason why the start fails, and the time it takes is the pull's.
	// It must return when ctx ends. Nil: references that contain "missing" fail.
	Pull func(ctx context.Context, image string) error
	// Arch is the architecture of the hosts, amd64 or arm64. Empty: this host's.
	Arch string
}

// Old says in what a server is older than the newest release. Each field is a difference by itself.
type Old struct {
	// NoUser drops the user of a command: it runs as the image's, and the answer does not say so.
	NoUser bool
	// NoB64 leaves stdoutB64 and stderrB64 out of the outcome of a command.
	NoB64 bool
	// NoLabels drops labels, NoLabelFilter ignores the filter of a list.
	NoLabels, NoLabelFilter bool
	// NoReady leaves ready and readyAt out of machines.
	NoReady bool
	// NoHosts drops the host names of a network and requires its cidrs.
	NoHosts bool
	// NoPolicy ignores the network of a restore.
	NoPolicy bool
	// NoFinalUsage ignores includeUsage of a delete.
	NoFinalUsage bool
	// ForkOnly has /fork and /fork-batch and not /branches, and uses the names with fork and checkpoint in machines.
	ForkOnly bool
	// Running says "running" for "started".
	Running bool
	// Wrapped answers lists of machines as {"machines":[...]}.
	Wrapped bool
}

// Oldest is an older release in every way.
func Oldest() Old {
	return Old{
		NoUser: true, NoB64: true, NoLabels: true, NoLabelFilter: true, NoReady: true, NoHosts: true, NoPolicy: true, NoFinalUsage: true,
		ForkOnly: true, Running: true, Wrapped: true,
	}
}

// defaults replaces zero durations.
func (o *Options) defaults() {
	for _, d := range []struct {
		value *time.Duration
		zero  time.Duration
	}{
		{&o.Sweep, 15 * time.Second},
		{&o.Sample, 5 * time.Minute},
		{&o.IdleStop, 30 * time.Minute},
		{&o.RatePeriod, time.Minute},
		{&o.KeepAlive, 15 * time.Second},
		{&o.Grace, 5 * time.Second},
		{&o.LogPoll, 100 * time.Millisecond},
	} {
		if *d.value == 0 {
			*d.value = d.zero
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = realClock{}
	}
	if o.Pull == nil {
		o.Pull = pullUnlessMissing
	}
	if o.Plan == nil {
		p := DefaultPlan()
		o.Plan = &p
	}
	if o.Credit == 0 {
		o.Credit = 100e6
	}
	if o.DefaultNetwork == "" {
		o.DefaultNetwork = modeOpen
	}
	if o.PartSize <= 0 {
		o.PartSize = defaultPart
	}
	if o.Arch == "" {
		o.Arch = runtime.GOARCH
	}
}

// withDefaults returns a copy of o with zero values replaced.
func (o *Options) withDefaults() (Options, error) {
	if o == nil || o.Guest == nil {
		return Options{}, errors.New("cloud: Options.Guest is not set")
	}
	switch {
	case o.DataDir == "":
		return Options{}, errors.New("cloud: Options.DataDir is not set")
	case o.Token == "" && len(o.Keys) == 0:
		return Options{}, errors.New("cloud: neither Options.Token nor Options.Keys is set, and nobody could be let in")
	case o.Errors != "" && !slices.Contains(Styles(), o.Errors):
		return Options{}, fmt.Errorf("cloud: Options.Errors is %q; it is one of %q", o.Errors, Styles())
	case !slices.Contains([]string{"", modeOpen, modeBlocked}, o.DefaultNetwork):
		return Options{}, fmt.Errorf("cloud: Options.DefaultNetwork is %q; it is %q or %q", o.DefaultNetwork, modeOpen, modeBlocked)
	case !slices.Contains([]int{0, 404, 405, 501}, o.FilesStatus):
		return Options{}, fmt.Errorf("cloud: Options.FilesStatus is %d; it is 404, 405 or 501", o.FilesStatus)
	}
	c := *o
	c.Keys = slices.Clone(o.Keys)
	if c.Token != "" {
		c.Keys = append(c.Keys, Key{Token: c.Token})
		c.Token = ""
	}
	for i, k := range c.Keys {
		if k.Token == "" || strings.ContainsAny(k.Token, " \t\r\n") {
			return Options{}, fmt.Errorf("cloud: the token of key %d is empty or has white space in it", i)
		}
	}
	c.defaults()
	return c, nil
}

// pullUnlessMissing is the default of Options.Pull.
func pullUnlessMissing(_ context.Context, image string) error {
	if strings.Contains(image, "missing") {
		return fmt.Errorf("%w: %s", sim.ErrNoImage, image)
	}
	return nil
}
