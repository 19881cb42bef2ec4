//go:build linux || darwin

package serve_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlanted passes over a socket at which another user listens, and says so.
func TestPlanted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can listen as another user")
	}
	t.Parallel()
	p := newPlace(t)
	open := filepath.Join(p.dir, "open")
	if err := errors.Join(os.Chmod(p.dir, 0o711), os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	planted := filepath.Join(open, "smolvm.sock")
	p.program("planter", "SOCKET="+planted).says("listens")
	c := p.config()
	var log bytes.Buffer
	c.URL, c.Adopt, c.Log = "unix://"+planted, []string{p.listen("usual.sock", health("1.20.1"))}, slog.New(slog.NewTextHandler(&log, nil))
	l := newLease(c)
	if u := get(t, l); u.URL != c.Adopt[0] {
		t.Errorf("uses %+v", u)
	}
	closeLease(t, l)
	if !strings.Contains(log.String(), planted) || !strings.Contains(log.String(), "another user listens there") {
		t.Errorf("the log says %q", log.String())
	}
	p.began(0)
}
