package local

import (
	"net"
	"net/netip"
	"regexp"
	"strings"
)

// reference is the form of an image reference: host, repository, tag and digest.
var reference = regexp.MustCompile(`^(?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?` +
	`[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*` +
	`(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`)

// checkRegistry refuses a machine from a registry. There is none here, so that nothing is ever found in it.
func checkRegistry(ref string, withToken bool) error {
	if !reference.MatchString(ref) {
		return badRequest("invalid registry reference: %s", ref)
	}
	host, _, _ := strings.Cut(normalise(ref), "/")
	if withToken && privateHost(host) {
		return badRequest("registry host '%s' is a private/loopback address and is not permitted for tenant image pulls", host)
	}
	return notFound("image not found in registry: %s", ref)
}

// privateHost reports whether a registry's host, with or without a port, can be reached from nowhere else.
func privateHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast())
}
