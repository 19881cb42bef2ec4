package mcpserver

// Target names a fleet: "local" or "cloud".
type Target string

const (
	// TargetLocal is smolvm on this host.
	TargetLocal Target = "local"
	// TargetCloud is the smol cloud, whose machines are billed.
	TargetCloud Target = "cloud"
)

// targetsOf returns the fleets that c asks for, in the order in which they are told.
func targetsOf(c *Config) []Target {
	switch c.Targets {
	case "local":
		return []Target{TargetLocal}
	case "cloud":
		return []Target{TargetCloud}
	case "both":
		return []Target{TargetLocal, TargetCloud}
	default:
		if c.CloudToken != "" {
			return []Target{TargetLocal, TargetCloud}
		}
		return []Target{TargetLocal}
	}
}
