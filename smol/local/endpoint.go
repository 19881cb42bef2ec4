package local

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/smol-machines/smol-go/smol"
)

// endpoint is where the service listens.
type endpoint struct {
	network, address string // as net.Dial takes them
	url              string // the canonical form of Options.URL
}

// base returns the URL that requests are made from. Over a Unix socket any host will do.
func (e *endpoint) base() *url.URL {
	if e.network == "unix" {
		return &url.URL{Scheme: "http", Host: "localhost"}
	}
	return &url.URL{Scheme: "http", Host: e.address}
}

// parseEndpoint reads Options.URL for a program on goos.
func parseEndpoint(raw, goos string) (*endpoint, error) {
	if strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, badURL("%q has a control character", raw)
	}
	if path, ok := strings.CutPrefix(raw, "unix://"); ok {
		return unixEndpoint(path, goos)
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	switch {
	case ok && scheme == "https":
		return nil, badURL("%q: TLS is not supported; use the Unix socket, or plain HTTP on a loopback address", raw)
	case ok && scheme != "http":
		return nil, badURL("%q is neither unix:///path nor http://127.0.0.1:port", raw)
	case ok:
		return tcpEndpoint(strings.TrimSuffix(rest, "/"))
	case strings.HasPrefix(raw, "."), strings.ContainsAny(raw, `/\`):
		return unixEndpoint(raw, goos)
	default:
		return tcpEndpoint(raw)
	}
}

// unixEndpoint checks the path of a socket. A relative one is made absolute, so that it stays the same should the program change its
// directory.
func unixEndpoint(path, goos string) (*endpoint, error) {
	if goos == "windows" {
		return nil, badURL("%q is a Unix socket, which smolvm does not serve on Windows; use http://127.0.0.1:port", path)
	}
	if path == "" || strings.HasSuffix(path, "/") {
		return nil, badURL("unix://%s names no socket", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, badURL("%q cannot be made absolute: %v", path, err)
	}
	// The system's limit includes a NUL at the end.
	limit := 108 - 1
	if goos != "linux" {
		limit = 104 - 1
	}
	if len(abs) > limit {
		return nil, badURL("the socket path %s has %d bytes, and the system allows %d; choose a shorter one", abs, len(abs), limit)
	}
	return &endpoint{network: "unix", address: abs, url: "unix://" + abs}, nil
}

func tcpEndpoint(hostport string) (*endpoint, error) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, badURL("%q is neither unix:///path nor a loopback address with a port, such as http://127.0.0.1:8080", hostport)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return nil, badURL("%q has no port between 1 and 65535", hostport)
	}
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1" // resolving could lead to ::1, where smolvm does not listen, or through the resolver to anywhere
	}
	addr, err := netip.ParseAddr(host)
	addr = addr.Unmap()
	if err != nil || !addr.IsLoopback() || addr.Zone() != "" {
		return nil, badURL(
			"%q is not on this host's loopback: the service has no authentication, so who reaches it owns the host; forward a Unix socket or a loopback port to it",
			hostport,
		)
	}
	address := netip.AddrPortFrom(addr, uint16(n)).String()
	return &endpoint{network: "tcp", address: address, url: "http://" + address}, nil
}

func badURL(format string, args ...any) error {
	return &smol.Error{Code: smol.CodeInvalid, Message: "Options.URL " + fmt.Sprintf(format, args...)}
}
