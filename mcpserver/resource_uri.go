package mcpserver

import (
	"context"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/smol"
)

// machineURI is a resource of a machine: its logs, or with a path a file.
type machineURI struct {
	uri     string
	machine *smol.Machine
	path    string
}

// maxURIPath is the most bytes of a path, as of a path in Linux.
const maxURIPath = 4096

// parseURI returns what a URI names. A session that is for one fleet sees nothing of the other.
func (s *Server) parseURI(ctx context.Context, ss *session, uri string) (*machineURI, error) {
	bad := func(what string) error { return fail(CodeInvalid, "the URI %q %s", clip(uri, 200), what) }
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "smol" || u.Host != "machine" || u.User != nil {
		return nil, bad("is not smol://machine/TARGET/NAME/logs and not smol://machine/TARGET/NAME/file/PATH")
	}
	if strings.ContainsAny(uri, "?#") {
		return nil, bad("has a query or a fragment; in a path write %3F and %23")
	}
	parts := strings.SplitN(strings.TrimPrefix(u.EscapedPath(), "/"), "/", 4)
	if len(parts) < 3 || parts[2] != "logs" && parts[2] != "file" || (parts[2] == "file") != (len(parts) == 4) {
		return nil, bad("names neither logs nor a file")
	}
	out := &machineURI{uri: uri}
	name, err := url.PathUnescape(parts[1])
	if err != nil {
		return nil, bad("is wrongly encoded")
	}
	if len(parts) == 4 {
		if out.path, err = url.PathUnescape("/" + parts[3]); err != nil || !wholePath(out.path) {
			return nil, bad("has no absolute path of a file, without . and .. in it")
		}
	}
	t := Target(parts[0])
	if n := ss.narrowed(); s.sources[t] == nil || n != "" && n != t {
		return nil, fail(CodeNotFound, "no fleet %q is served to this session", clip(parts[0], 40)).hint("%s lists the fleets.", targetsURI)
	}
	fleet, err := s.sources[t].Fleet(ctx)
	if err != nil {
		return nil, err
	}
	out.machine = fleet.Machine(name)
	return out, nil
}

// wholePath reports whether p is the absolute path of a file, written in the one way that has no detours.
func wholePath(p string) bool {
	return p != "/" && path.Clean(p) == p && len(p) <= maxURIPath && utf8.ValidString(p) && !strings.ContainsRune(p, 0)
}
