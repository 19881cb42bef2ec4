package mcpserver

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/smol-machines/smol-go/smol/cloud"
	"github.com/smol-machines/smol-go/smol/local"
)

// The rules say what is possible for a setting that is more than a line of text. What the library takes is asked of the library; its words are
// not used, since they repeat the value. None is asked about an empty text, which is none.

func isLocalURL(s string) error {
	if _, err := local.NewBackend(&local.Options{URL: s}); err == nil {
		return nil
	}
	if runtime.GOOS == "windows" {
		return errors.New("must be a port on this host's loopback, such as http://127.0.0.1:8080")
	}
	return errors.New("must be the path of a socket, such as unix:///tmp/smolvm.sock (about 100 bytes at most), or a port on this host's loopback, such as http://127.0.0.1:8080")
}

func isCloudURL(s string) error {
	if _, err := cloud.NewBackend(&cloud.Options{Token: "-", URL: s}); err != nil {
		return errors.New("must be https, or http on this host's loopback, without a user, a query and the version at the end, such as " + cloud.DefaultURL)
	}
	return nil
}

func isCloudToken(s string) error {
	if _, err := cloud.NewBackend(&cloud.Options{Token: s}); err != nil {
		return errors.New("must be a key as https://smolmachines.com/console/keys shows it: ASCII without spaces, at most 16 KiB")
	}
	return nil
}

func isAuthToken(s string) error {
	if len(s) > 16<<10 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("must be ASCII without spaces, at most 16 KiB")
	}
	return nil
}

// maxCAFile is the most bytes of a file of certificates; that of a whole system has a quarter of a megabyte.
const maxCAFile = 8 << 20

func isCAFile(s string) error {
	const name = "name a file with certificates in PEM"
	switch st, err := os.Stat(s); {
	case err != nil:
		return fmt.Errorf("cannot be read: %w; %s", causeOf(err), name)
	case !st.Mode().IsRegular() || st.Size() > maxCAFile:
		return errors.New("is no file, or one of more than 8 MiB; " + name)
	}
	_, err := cloud.NewBackend(&cloud.Options{Token: "-", CAFile: s})
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return fmt.Errorf("cannot be read: %w; %s", path.Err, name)
	case err != nil:
		return errors.New("holds no certificate; " + name)
	}
	return nil
}

// causeOf leaves the path out of what the system says about it.
func causeOf(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func isProgram(s string) error {
	if st, err := os.Stat(s); err == nil && st.IsDir() && strings.ContainsRune(filepath.ToSlash(s), '/') {
		return errors.New("is a directory; name the program in it")
	}
	return nil // one that is not there may be installed later
}

func isRuntimeDir(s string) error {
	if !filepath.IsAbs(s) {
		return errors.New("must be an absolute directory, since other programs share it")
	}
	if _, err := local.Supervise(&local.ServeOptions{Dir: s}); err != nil {
		return errors.New("must be a shorter directory: the path of a socket in it may have about 100 bytes")
	}
	if st, err := os.Stat(s); err == nil && !st.IsDir() {
		return errors.New("must be a directory, and there is something else of that name: remove it, or name another")
	}
	return nil
}

func isMountRoot(s string) error {
	if !filepath.IsAbs(s) {
		return errors.New("not absolute")
	}
	if st, err := os.Stat(s); err != nil {
		return causeOf(err)
	} else if !st.IsDir() {
		return errors.New("no directory")
	}
	return nil
}

// The forms of a host by name, of a Host header, and of an Origin header.
var (
	hostForm   = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?$`)
	headerForm = regexp.MustCompile(`^([A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$`)
	originForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]{0,63}://[^/?#@\s\x00-\x1f]{1,260}$`)
)

func isHost(s string) error {
	if _, err := netip.ParseAddr(s); err != nil && !hostForm.MatchString(s) {
		return errors.New("must be an address or the name of a host, without a port, such as 127.0.0.1")
	}
	return nil
}

func isHostHeader(s string) error {
	if !headerForm.MatchString(s) {
		return errors.New("must be hosts as browsers ask for them, such as localhost:8080")
	}
	return nil
}

func isOrigin(s string) error {
	if !originForm.MatchString(s) {
		return errors.New("must be origins as browsers send them, such as https://example.com")
	}
	return nil
}
