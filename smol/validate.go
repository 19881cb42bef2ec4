package smol

import (
	"fmt"
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// The largest sizes that make sense, so that a slip in the unit is an error and not an overflow on the wire.
const (
	maxCPUs      = 255
	minMemoryMiB = 64
	maxMemoryMiB = 1 << 24 // 16 TiB
	maxDiskGiB   = 1 << 20 // 1 PiB
	maxPort      = 65535
	maxPath      = 4096
)

// Validate reports the first field of s that no fleet accepts, as an error that matches [ErrInvalid] and names it. The fleet's own
// rules come on top. Create calls it.
func (s *Spec) Validate() error {
	checks := []func() error{
		func() error { return optional(s.Name, "Spec.Name", validateName) },
		func() error { return optional(s.Image, "Spec.Image", validateImage) },
		func() error { return validateArgs("Spec.Command", s.Command) },
		func() error { return validateEnvMap("Spec.Env", s.Env) },
		func() error { return optional(s.Dir, "Spec.Dir", validateGuestPath) },
		s.Resources.validate,
		s.Network.validate,
		func() error { return validatePorts("Spec.Ports", s.Ports) },
		func() error { return validateMounts("Spec.Mounts", s.Mounts) },
		func() error { return validateLabels("Spec.Labels", s.Labels) },
		func() error { return notNegative("Spec.AutoStop", int64(s.AutoStop)) },
		func() error { return notNegative("Spec.TTL", int64(s.TTL)) },
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func optional(value, field string, check func(field, value string) error) error {
	if value == "" {
		return nil
	}
	return check(field, value)
}

// validateImage accepts OCI references. What looks like a file is the fleets' own shorthand for an archive of the host, which
// no service takes.
func validateImage(field, image string) error {
	if len(image) > 1024 {
		return invalidf(field, "has %d bytes; at most 1024 are allowed", len(image))
	}
	for i := range len(image) {
		if c := image[i]; !isAlnum(c) && !strings.ContainsRune("._-:/@+", rune(c)) {
			return invalidf(field, "%q is not an OCI reference such as \"alpine:3.20\"", image)
		}
	}
	if !isAlnum(image[0]) || strings.Contains(image, "..") || strings.HasSuffix(image, "/") {
		return invalidf(field, "%q is not an OCI reference such as \"alpine:3.20\"", image)
	}
	return nil
}

func (r *Resources) validate() error {
	for _, f := range []struct {
		field       string
		value       int
		least, most int
	}{
		{"Spec.Resources.CPUs", r.CPUs, 1, maxCPUs},
		{"Spec.Resources.MemoryMiB", r.MemoryMiB, minMemoryMiB, maxMemoryMiB},
		{"Spec.Resources.DiskGiB", r.DiskGiB, 1, maxDiskGiB},
		{"Spec.Resources.OverlayGiB", r.OverlayGiB, 1, maxDiskGiB},
	} {
		if f.value != 0 && (f.value < f.least || f.value > f.most) {
			return invalidf(f.field, "is %d; allowed is %d to %d, or 0 for the default", f.value, f.least, f.most)
		}
	}
	return nil
}

func (n *Network) validate() error {
	for i, host := range n.AllowHosts {
		if err := validateHost(fmt.Sprintf("Spec.Network.AllowHosts[%d]", i), host); err != nil {
			return err
		}
	}
	for i, cidr := range n.AllowCIDRs {
		if _, err := netip.ParsePrefix(cidr); err == nil {
			continue
		}
		if addr, err := netip.ParseAddr(cidr); err != nil || addr.Zone() != "" {
			return invalidf(fmt.Sprintf("Spec.Network.AllowCIDRs[%d]", i),
				"%q is neither a range such as 10.0.0.0/8 nor an address such as 1.1.1.1", cidr)
		}
	}
	return nil
}

func validateHost(field, host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return invalidf(field, "%q is an address; it belongs into AllowCIDRs", host)
	}
	if host == "" || len(host) > 253 {
		return invalidf(field, "%q is not a host name", host)
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		bad := label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-'
		for i := range len(label) {
			bad = bad || !isAlnum(label[i]) && label[i] != '-' && label[i] != '_'
		}
		if bad {
			return invalidf(field, "%q is not a host name; it has no scheme, port, path or wildcard", host)
		}
	}
	return nil
}

func validatePorts(field string, ports []Port) error {
	hosts := make(map[int]int)
	for i, p := range ports {
		if p.Guest < 1 || p.Guest > maxPort {
			return invalidf(fmt.Sprintf("%s[%d].Guest", field, i), "is %d; allowed is 1 to %d", p.Guest, maxPort)
		}
		at := fmt.Sprintf("%s[%d].Host", field, i)
		if p.Host < 0 || p.Host > maxPort {
			return invalidf(at, "is %d; allowed is 1 to %d, or 0 for a free one", p.Host, maxPort)
		}
		if j, dup := hosts[p.Host]; dup && p.Host != 0 {
			return invalidf(at, "is %d, as %s[%d].Host is", p.Host, field, j)
		}
		hosts[p.Host] = i
	}
	return nil
}

func validateMounts(field string, mounts []Mount) error {
	targets := make(map[string]int)
	for i, m := range mounts {
		source, target := fmt.Sprintf("%s[%d].Source", field, i), fmt.Sprintf("%s[%d].Target", field, i)
		if err := validateText(source, m.Source); err != nil {
			return err
		}
		if !filepath.IsAbs(m.Source) {
			return invalidf(source, "%q is not an absolute directory of the host", m.Source)
		}
		if err := validateGuestPath(target, m.Target); err != nil {
			return err
		}
		clean := path.Clean(m.Target)
		if clean == "/" || slices.Contains(strings.Split(m.Target, "/"), "..") {
			return invalidf(target, "%q is no place for a mount", m.Target)
		}
		if j, dup := targets[clean]; dup {
			return invalidf(target, "%q is also that of %s[%d]", m.Target, field, j)
		}
		targets[clean] = i
	}
	return nil
}

func validateLabels(field string, labels map[string]string) error {
	for _, key := range sortedKeys(labels) {
		at := fmt.Sprintf("%s[%q]", field, key)
		if key == "" || strings.Contains(key, "=") {
			return invalidf(at, "must have a name without '='")
		}
		if err := validateText(at+" name", key); err != nil {
			return err
		}
		if err := validateText(at, labels[key]); err != nil {
			return err
		}
	}
	return nil
}

func notNegative(field string, value int64) error {
	if value < 0 {
		return invalidf(field, "is negative")
	}
	return nil
}

// validateText checks what is going to travel as JSON text and through system calls.
func validateText(field, s string) error {
	switch {
	case strings.Contains(s, "\x00"):
		return invalidf(field, "contains a NUL byte")
	case !utf8.ValidString(s):
		return invalidf(field, "is not UTF-8, which no fleet's wire carries; pass it in a file or on standard input")
	}
	return nil
}

// validateGuestPath checks an absolute path in a machine.
func validateGuestPath(field, p string) error {
	if err := validateText(field, p); err != nil {
		return err
	}
	if !strings.HasPrefix(p, "/") {
		return invalidf(field, "%q is not an absolute path", p)
	}
	if len(p) > maxPath {
		return invalidf(field, "has %d bytes; at most %d are allowed", len(p), maxPath)
	}
	return nil
}
