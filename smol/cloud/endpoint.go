package cloud

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/smol"
)

const keysHint = "make a key at https://smolmachines.com/console/keys and set " + EnvToken + ", or Options.Token"

// parseURL reads Options.URL. It is repeated in errors only once it is known to hold no password.
func parseURL(raw string) (*url.URL, error) {
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, badURL("has a space or a control character")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.Host == "" || u.Hostname() == "" {
		return nil, badURL("is not an address such as %s", DefaultURL)
	}
	switch {
	case u.User != nil:
		return nil, badURL("has a user name or password; the key goes into Options.Token") // and not into this error
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, badURL("%q has a query or a fragment", raw)
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return nil, badURL("%q would send the key in the clear; use https", raw)
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, badURL("%q is neither https nor, on this host's loopback, http", raw)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	if strings.HasSuffix(u.Path, "/v1") {
		return nil, badURL("%q ends in the version; leave /v1 out", raw)
	}
	if strings.Contains(u.Path, "..") || strings.Contains(u.Path, "%") {
		return nil, badURL("%q has a path that leads elsewhere", raw)
	}
	return u, nil
}

func badURL(format string, args ...any) error {
	return &smol.Error{Code: smol.CodeInvalid, Message: "Options.URL " + fmt.Sprintf(format, args...)}
}

// isLoopback reports whether the host of a URL is this host. "localhost" may still resolve to something else: see dialer.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// checkHeader refuses what cannot be the value of a header, without repeating it: it may be a secret, and a key with a slip in it is still one.
func checkHeader(field, value string) error {
	for i := range len(value) {
		if value[i] <= ' ' || value[i] > '~' {
			return rest.Invalid(field, "has a space, a control character or one that is not ASCII at byte %d", i)
		}
	}
	return nil
}

// checkToken refuses a key that cannot be one.
func checkToken(token string) error {
	if token == "" {
		return &smol.Error{Code: smol.CodeUnauthenticated, Message: "there is no key for the smol cloud", Hint: keysHint}
	}
	if len(token) > 16<<10 {
		return rest.Invalid("Options.Token", "has %d bytes, which no key has", len(token))
	}
	return checkHeader("Options.Token", token)
}
