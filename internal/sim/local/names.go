package local

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/randhex"
	"github.com/smol-machines/smol-go/internal/sim/serde"
)

func letterOrDigit(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// checkName returns what is wrong with a name of the kind that label says, or "".
func checkName(label, name string) string {
	switch {
	case name == "":
		return label + " cannot be empty"
	case len(name) > 128:
		return fmt.Sprintf("%s too long: %d characters (max 128)", label, len(name))
	case !letterOrDigit([]rune(name)[0]):
		return fmt.Sprintf("%s must start with a letter or digit (got: %s)", label, serde.Quote(name))
	case strings.HasSuffix(name, "-"):
		return fmt.Sprintf("%s cannot end with a hyphen (got: %s)", label, serde.Quote(name))
	}
	last := ' '
	for _, c := range name {
		switch {
		case c == '-' && last == '-':
			return label + " cannot contain consecutive hyphens"
		case c == '/' || c == '\\':
			return label + " cannot contain path separators"
		case !letterOrDigit(c) && c != '-' && c != '_':
			return fmt.Sprintf("%s contains invalid character: '%c'", label, c)
		}
		last = c
	}
	return ""
}

// randomName is the name of a machine that was given none.
func randomName() string {
	return "vm-" + randhex.String(4)
}

// envRule returns the rule that an environment name breaks, or "".
func envRule(name string) string {
	switch {
	case name == "":
		return "env key must not be empty"
	case len(name) > 256:
		return "env key exceeds 256-byte limit"
	}
	for i, c := range []byte(name) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		switch {
		case i == 0 && !letter:
			return "env key must start with an ASCII letter or underscore"
		case !letter && (c < '0' || c > '9'):
			return "env key must contain only ASCII alphanumeric and underscore"
		}
	}
	return ""
}

type envVar struct {
	Name  string `serde:"name"`
	Value string `serde:"value"`
}

// variables checks the names and returns NAME=value.
func variables(list []envVar) ([]string, error) {
	var out []string
	for _, e := range list {
		if rule := envRule(e.Name); rule != "" {
			return nil, badRequest("env entry with %d-byte name rejected: %s", len(e.Name), rule)
		}
		out = append(out, e.Name+"="+e.Value)
	}
	return out, nil
}

type secretRef struct {
	_        struct{} `serde:",deny"`
	FromEnv  *string  `serde:"from_env"`
	FromFile *string  `serde:"from_file"`
}

// checkSecrets refuses all that there are.
func checkSecrets(secrets map[string]secretRef) error {
	if len(secrets) > 64 {
		return badRequest("request `secrets` map has %d entries; maximum is 64", len(secrets))
	}
	var keys []string
	for k := range secrets {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if rule := envRule(k); rule != "" {
			return badRequest("secrets entry with %d-byte key rejected: %s", len(k), rule)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	kind := "env"
	if secrets[keys[0]].FromFile != nil {
		kind = "file"
	}
	return badRequest("secret '%s': source kind '%s' is not allowed in scope Untrusted; secret refs may only be resolved on the trusted local host", keys[0], kind)
}

// checkPorts are the checks that create and fork share.
func checkPorts(ports []port) error {
	seen := map[uint16]bool{}
	for _, p := range ports {
		if p.Host == 0 || p.Guest == 0 {
			return badRequest("port 0 is not valid for VM port forwarding")
		}
	}
	for _, p := range ports {
		if seen[p.Host] {
			return badRequest("duplicate host port %d: each host port can only be mapped once", p.Host)
		}
		seen[p.Host] = true
	}
	return nil
}

// normaliseCIDRs gives single addresses their length; host bits stay as they are.
func normaliseCIDRs(list *[]string) (*[]string, error) {
	if list == nil {
		return nil, nil
	}
	out := []string{}
	for _, s := range *list {
		if p, err := netip.ParsePrefix(s); err == nil {
			out = append(out, p.String())
			continue
		}
		a, err := netip.ParseAddr(s)
		if err != nil || a.Zone() != "" {
			return nil, badRequest("invalid CIDR '%s': expected format like 10.0.0.0/8 or 1.1.1.1", s)
		}
		out = append(out, fmt.Sprintf("%s/%d", a, a.BitLen()))
	}
	return &out, nil
}

// normalise expands an image reference as Docker does. A digest wins over a tag.
func normalise(image string) string {
	name, digest, byDigest := strings.Cut(image, "@")
	host, rest, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		host, rest = "docker.io", "library/"+name
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		host, rest = "docker.io", name
	case (host == "docker.io" || host == "index.docker.io") && !strings.Contains(rest, "/"):
		host, rest = "docker.io", "library/"+rest
	}
	base := rest[strings.LastIndex(rest, "/")+1:]
	repo, _, tagged := strings.Cut(base, ":")
	switch {
	case byDigest && tagged:
		rest = strings.TrimSuffix(rest, base) + repo
	case !byDigest && !tagged:
		rest += ":latest"
	}
	if byDigest {
		rest += "@" + digest
	}
	return host + "/" + rest
}

// localImage reports whether an image string names an archive or a directory.
func localImage(image string) bool {
	for _, p := range []string{"/", "./", "../", "local:", "local-dir:"} {
		if strings.HasPrefix(image, p) {
			return true
		}
	}
	for _, s := range []string{".tar", ".tar.gz", ".tgz"} {
		if strings.HasSuffix(image, s) {
			return true
		}
	}
	return image == "-"
}
