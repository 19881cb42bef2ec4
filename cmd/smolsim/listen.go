package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// address is where the API is served: a TCP address, or the path of a Unix socket.
type address struct {
	tcp  netip.AddrPort
	path string
}

// String is the address as smolvm prints it when it is ready.
func (a address) String() string {
	if a.path != "" {
		return "unix://" + a.path
	}
	return "http://" + a.tcp.String()
}

// defaultListen is where smolvm serves when nobody says otherwise.
func defaultListen(goos string, getenv func(string) string) string {
	switch dir := getenv("XDG_RUNTIME_DIR"); {
	case goos == "windows":
		return "127.0.0.1:8080"
	case goos == "linux" && dir != "":
		return "unix://" + dir + "/smolvm.sock"
	}
	return "unix:///tmp/smolvm.sock"
}

// parseListen reads an address by smolvm's rules: an IP address with a port is TCP; else, what has a colon and does not begin with
// unix:// or / is refused, so a host name is; the rest is a path.
func parseListen(goos, s string) (address, error) {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return address{tcp: ap}, nil
	}
	path, hasPrefix := strings.CutPrefix(s, "unix://")
	if goos == "windows" || path == "" || (!hasPrefix && !strings.HasPrefix(s, "/") && strings.Contains(s, ":")) {
		return address{}, fmt.Errorf("invalid address '%s': expected a valid ADDR:PORT or a unix:// path", s)
	}
	return address{path: path}, nil
}

// bind listens on a. Like smolvm it makes the directories above a socket and deletes what is at its path.
func (a address) bind() (net.Listener, error) {
	if a.path == "" {
		return net.Listen("tcp", a.tcp.String())
	}
	if err := os.MkdirAll(filepath.Dir(a.path), 0o755); err != nil {
		return nil, err
	}
	if err := os.Remove(a.path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	l, err := net.Listen("unix", a.path)
	if err != nil {
		return nil, err
	}
	// Smolvm leaves this to the umask; there is no authentication, so nobody else has any business here.
	if err := os.Chmod(a.path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// openToAll is the warning for an address that other hosts reach, or "".
func (a address) openToAll() string {
	if a.path != "" || !a.tcp.Addr().IsUnspecified() {
		return ""
	}
	return "WARNING: the API listens on all interfaces (" + a.tcp.String() + ").\n" +
		"There is no authentication: whoever reaches it controls this user's account.\n" +
		"Use a Unix socket or 127.0.0.1 unless you mean it.\n"
}

// rolloutPort is the second port that every smolvm server binds.
func rolloutPort(getenv func(string) string) (int, error) {
	const name = "SMOLVM_GUEST_ROLLOUT_HOST_PORT"
	s := getenv(name)
	if s == "" {
		return 10081, nil
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("config operation failed: bind guest rollout ingress: %s must be an integer between 1 and 65535", name)
	}
	return int(n), nil
}

// dataDir is where records and machines are kept. It is not smolvm's own directory: a stand-in has no business in a real server's
// database.
func dataDir(getenv func(string) string) (string, error) {
	dir, home := getenv("XDG_DATA_HOME"), getenv("HOME")
	if runtime.GOOS == "windows" {
		dir, home = getenv("LOCALAPPDATA"), getenv("USERPROFILE")
	}
	if to := getenv("SMOLVM_DATA_DIR"); to != "" {
		dir, home = "", to // as if HOME were there and XDG unset
	}
	if dir == "" {
		if home == "" {
			return "", fmt.Errorf("no place for data: set SMOLVM_DATA_DIR, XDG_DATA_HOME or HOME")
		}
		dir = filepath.Join(home, ".local", "share")
		if runtime.GOOS == "darwin" {
			dir = filepath.Join(home, "Library", "Application Support")
		}
	}
	return filepath.Abs(filepath.Join(dir, "smolsim"))
}
