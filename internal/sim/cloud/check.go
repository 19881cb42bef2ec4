package cloud

import (
	"regexp"
	"slices"
	"strings"
)

// The limits of what a machine can be.
const (
	maxPorts     = 16
	maxLabels    = 32
	maxDiskGB    = 16384
	defaultCPUs  = 4
	defaultMemMB = 8192
	minMemMB     = 64
)

var (
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}$`)
	labelForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?$`)
)

func checkName(name string) error {
	if !nameForm.MatchString(name) {
		return badRequest("invalid machine name %q: use 1 to 63 letters, digits, hyphens and underscores", name)
	}
	return nil
}

// checkSource also tells an image by its mirror, if the server does that.
func (c *call) checkSource(src *machineSource) (source, error) {
	s := source{Type: string(src.Type), Reference: src.Reference, Arch: src.Arch}
	switch {
	case s.Reference == "" || strings.ContainsAny(s.Reference, " \t\n\x00"):
		return s, badRequest("invalid source reference %q", s.Reference)
	case s.Arch != nil && !slices.Contains([]string{"amd64", "arm64"}, *s.Arch):
		return s, unprocessable("unknown arch %q: use amd64 or arm64", *s.Arch)
	case s.Arch != nil && *s.Arch != c.o.Arch:
		return s, unprocessable("no capacity: no node has the arch %s", *s.Arch)
	}
	if c.o.MirrorImages && s.Type == "image" && !strings.Contains(s.Reference, "/") {
		s = source{"smolmachine", "registry.smolmachines.com/library/" + s.Reference, &c.o.Arch}
	}
	return s, nil
}

// checkNetwork returns what a request asks for, which is of the mode def if it asks for nothing.
func (c *call) checkNetwork(req *machineNetwork, def string) (network, error) {
	if req == nil {
		return network{Mode: def}, nil
	}
	n := network{Mode: string(req.Mode)}
	if n.Mode != modeAllow {
		return n, nil
	}
	n.CIDRs, n.Hosts = valueOr(req.CIDRs, nil), valueOr(req.Hosts, nil)
	if c.o.Old.NoHosts {
		if n.Hosts = nil; req.CIDRs == nil {
			return n, unprocessable("Failed to deserialize the JSON body into the target type: network: missing field `cidrs`")
		}
	}
	switch {
	case len(n.CIDRs)+len(n.Hosts) == 0:
		return n, badRequest("allowCidrs network mode requires at least one CIDR or host")
	case slices.Contains(n.CIDRs, "") || slices.Contains(n.Hosts, ""):
		return n, badRequest("allowCidrs network mode does not take an empty CIDR or host")
	}
	return n, nil
}

func checkResources(req *machineResources) (resources, error) {
	r := resources{CPUs: defaultCPUs, MemoryMB: defaultMemMB}
	if req == nil {
		return r, nil
	}
	r.CPUs, r.MemoryMB, r.DiskGB = valueOr(req.CPUs, defaultCPUs), valueOr(req.MemoryMB, defaultMemMB), req.DiskGB
	if req.Durability != nil {
		d := string(*req.Durability)
		r.Durability = &d
	}
	switch {
	case r.CPUs == 0:
		return r, unprocessable("resources.cpus must be at least 1")
	case r.MemoryMB < minMemMB:
		return r, unprocessable("resources.memoryMb must be at least %d", minMemMB)
	case r.DiskGB != nil && (*r.DiskGB == 0 || *r.DiskGB > maxDiskGB):
		return r, unprocessable("resources.diskGb must be between 1 and %d", maxDiskGB)
	}
	return r, nil
}

func checkPorts(list []portSpec) ([]port, error) {
	if len(list) > maxPorts {
		return nil, unprocessable("at most %d ports can be published, not %d", maxPorts, len(list))
	}
	ports := []port{}
	for _, p := range list {
		if p.Port == 0 {
			return nil, unprocessable("port 0 cannot be published")
		}
		if slices.ContainsFunc(ports, func(q port) bool { return q.Port == p.Port }) {
			return nil, unprocessable("port %d is published twice", p.Port)
		}
		ports = append(ports, port{Port: p.Port})
	}
	return ports, nil
}

// checkLabels returns the labels as the server keeps them.
func (s *Server) checkLabels(labels map[string]string) (map[string]string, error) {
	if s.o.Old.NoLabels {
		return map[string]string{}, nil
	}
	if len(labels) > maxLabels {
		return nil, unprocessable("a machine has at most %d labels, not %d", maxLabels, len(labels))
	}
	for _, k := range sortedKeys(labels) {
		switch {
		case !labelForm.MatchString(k):
			return nil, unprocessable("invalid label key %q", k)
		case len(labels[k]) > 255:
			return nil, unprocessable("the value of the label %q is longer than 255 bytes", k)
		}
	}
	return labels, nil
}

func checkEnv(env map[string]string) error {
	for _, k := range sortedKeys(env) {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(env[k], "\x00") {
			return badRequest("invalid environment variable %q", k)
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// environList returns env as NAME=value.
func environList(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, k := range sortedKeys(env) {
		list = append(list, k+"="+env[k])
	}
	return list
}
