package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/smol-machines/smol-go/internal/rest"
	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/smol"
)

// resolveDir returns the directory of this host without links in its path.
func resolveDir(field, dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(real); err == nil && !info.IsDir() {
			return "", rest.Invalid(field, "%s is no directory; mount the one it lies in", dir)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", rest.Invalid(field, "%s does not exist on this host", dir)
	case err != nil:
		return "", &smol.Error{Code: smol.CodeInvalid, Message: field + " cannot be used: " + err.Error(), Err: err}
	}
	// The path that links lead to was not checked with the spec.
	return real, rest.CheckText(field, real)
}

// wirePorts translates published ports and picks a free one of the host for each that asks for it: the service takes no zero. Between
// the choice and the start another process can take it, which is then a conflict that says so.
func wirePorts(ctx context.Context, field string, ports []smol.Port) ([]localwire.PortSpec, error) {
	taken := make(map[int]bool)
	for i, p := range ports {
		at := fmt.Sprintf("%s[%d]", field, i)
		if p.Guest < 1 || p.Guest > 65535 {
			return nil, rest.Invalid(at+".Guest", "is %d; allowed is 1 to 65535", p.Guest)
		}
		if p.Host < 0 || p.Host > 65535 {
			return nil, rest.Invalid(at+".Host", "is %d; allowed is 1 to 65535, or 0 for a free one", p.Host)
		}
		if p.Host != 0 && taken[p.Host] {
			return nil, rest.Invalid(at+".Host", "is %d, as that of another port", p.Host)
		}
		taken[p.Host] = true
	}
	var out []localwire.PortSpec
	var held []net.Listener // until all are chosen, so that none is chosen twice
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for _, p := range ports {
		host := p.Host
		for host == 0 {
			var lc net.ListenConfig
			l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
			if err != nil {
				return nil, &smol.Error{Code: smol.CodeUnavailable, Message: "no free port on this host", Err: err}
			}
			held = append(held, l)
			if n := l.Addr().(*net.TCPAddr).Port; !taken[n] {
				host = n
			}
		}
		out = append(out, localwire.PortSpec{Host: uint16(host), Guest: uint16(p.Guest)})
	}
	return out, nil
}
