package mcpserver

import (
	"log/slog"
	"time"
)

// Config is what can be set from outside: by the environment, by a file, or by a program that embeds the server. The zero value is
// not useful; DefaultConfig and LoadConfig return one. Its String and LogValue leave the tokens out.
type Config struct {
	// Smolvm is the smolvm program, a path or a name to look for; MinSmolvm the oldest release that is used. Empty: any.
	Smolvm, MinSmolvm string
	// LocalURL is where a local service is looked for first. Empty: in the usual places only. One is started if none is found.
	LocalURL string
	// RuntimeDir holds the socket, the record and the log of the service that is started, and the record of ephemeral machines, with mode
	// 0700. Empty: no machine is on record, and those of a process that is killed are left.
	RuntimeDir string
	// MountRoots are the directories of the host below which a mount's source must lie. Empty: nothing can be mounted.
	MountRoots []string
	// CAFile holds certificates that are trusted on the way to the cloud, as well as the system's. Empty: none.
	CAFile string
	// MachinePrefix begins the names of ephemeral machines.
	MachinePrefix string
	// MemoryMiB and CPUs size a machine whose creator does not say.
	MemoryMiB, CPUs int
	// NetworkDefault and RunOnceNetwork are "blocked" or "open": what create-machine and run-once do without a word about the network.
	NetworkDefault, RunOnceNetwork string
	// EphemeralTTL and EphemeralAutoStop bound an ephemeral machine in the cloud, should nobody be left to delete it.
	EphemeralTTL, EphemeralAutoStop time.Duration
	// ExecTimeout is when a command is killed that names no time, MaxExecTimeout the longest that can be named.
	ExecTimeout, MaxExecTimeout time.Duration
	// Wait is how long a call waits for its command.
	Wait time.Duration
	// MaxOutputBytes is how much of each stream of output a result holds.
	MaxOutputBytes int
	// ReadyTimeout bounds the wait for a machine's first command, ServeStartTimeout that for a service that is started.
	ReadyTimeout, ServeStartTimeout time.Duration
	// LogsTail is how many lines of a log are read without a cursor, LogsPoll how often a subscribed log is looked at.
	LogsTail int
	LogsPoll time.Duration
	// CloudURL is where the cloud service is, CloudToken the key for it. Without a key the cloud is not served in mode auto.
	CloudURL, CloudToken string
	// Targets is "local", "cloud", "both" or "auto": which fleets are served.
	Targets string
	// HTTPHost, HTTPPort and HTTPPath are where the HTTP transport listens.
	HTTPHost string
	HTTPPort int
	HTTPPath string
	// HTTPSessionIdle ends a session of the HTTP transport without requests.
	HTTPSessionIdle time.Duration
	// HTTPAllowedHosts and HTTPAllowedOrigins restrict who may ask over HTTP.
	HTTPAllowedHosts, HTTPAllowedOrigins []string
	// AuthToken is what callers of the HTTP transport must show.
	AuthToken string
	// Toolsets are the groups of tools that are listed.
	Toolsets []string
	// ReadOnly lists only tools that change nothing.
	ReadOnly bool
}

// String returns the configuration without its tokens.
func (c *Config) String() string { return c.LogValue().String() }

// GoString returns what String does, for %#v.
func (c *Config) GoString() string { return c.String() }

// LogValue gives slog every key with its value; of a token only whether there is one.
func (c *Config) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, k := range configKeys(c) {
		v := k.value.text()
		if k.secret && v != "" {
			v = "(set)"
		}
		attrs = append(attrs, slog.String(k.name, v))
	}
	return slog.GroupValue(attrs...)
}

// DefaultConfig returns the configuration without any environment and file. The directory of the runtime files depends on the
// environment, so it is empty; LoadConfig finds it.
func DefaultConfig() *Config {
	c := &Config{}
	for _, k := range configKeys(c) {
		// The defaults are constants of the table below; a test sets each.
		_ = k.value.set(k.def)
	}
	return c
}
