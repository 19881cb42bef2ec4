package smol_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// fileImages are the machines on which files are worked with: a bare one, where sh is that of the host, one with
// busybox only, and one where sh is bash.
var fileImages = []string{"", "busybox", "bash"}

// fileMachine is a machine of the stand-in, and what the tests of files ask of it.
type fileMachine struct {
	*smol.Machine
	t     *testing.T
	local *smoltest.Local
}

// all reports whether the tests run with their full counts, large sizes included.
func all() bool { return rounds.N(1) > 1 }

// onImages runs the test on a machine of each image.
func onImages(t *testing.T, test func(t *testing.T, m *fileMachine)) {
	for _, image := range fileImages {
		name := image
		if name == "" {
			name = "bare"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newFileMachine(t, smol.Spec{Image: image}, nil))
		})
	}
}

// newFileMachine returns a machine on a stand-in of its own. It is reached through the backend that wrap returns, if it is not nil.
func newFileMachine(t *testing.T, spec smol.Spec, wrap func(smol.Backend) smol.Backend) *fileMachine {
	t.Helper()
	l := smoltest.NewLocal(t, nil)
	spec.Network.Open = true // as the service wants it for an image
	fleet := l.Service(t).Fleet
	if wrap != nil {
		fleet = smol.NewFleet(wrap(fleet.Backend()))
	}
	m, err := fleet.Create(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &fileMachine{Machine: m, t: t, local: l}
}

// sh runs a script in the machine, which must succeed, and returns its output.
func (m *fileMachine) sh(script string, args ...string) string {
	m.t.Helper()
	out, err := m.Command("sh", append([]string{"-c", script, "sh"}, args...)...).Output(m.t.Context())
	if err != nil {
		var exit *smol.ExitError
		if errors.As(err, &exit) {
			m.t.Fatalf("%s: %v: %s", script, err, exit.Stderr)
		}
		m.t.Fatalf("%s: %v", script, err)
	}
	return string(out)
}

// wantContent fails the test if the file has other content.
func (m *fileMachine) wantContent(path, want string) {
	m.t.Helper()
	got, err := m.ReadFile(m.t.Context(), path)
	if err != nil {
		m.t.Errorf("read %q: %v", path, err)
	} else if string(got) != want {
		m.t.Errorf("%q has %d bytes %.40q, not %d bytes %.40q", path, len(got), got, len(want), want)
	}
}

// wantNoStage fails the test if anything is left of an upload.
func (m *fileMachine) wantNoStage() {
	m.t.Helper()
	if left := m.sh(`ls -A /workspace/.smol/.files /var/tmp/.smol/.files 2>/dev/null | grep -v : ; ls -d /*/.smol-* "$@" 2>/dev/null; true`); strings.TrimSpace(left) != "" {
		m.t.Errorf("left in the machine: %q", left)
	}
}

// trips are the requests to the service that an operation takes.
type trips struct{ execs, uploads, downloads int }

// count returns what the function sends.
func (m *fileMachine) count(f func()) trips {
	m.t.Helper()
	m.local.ForgetRequests()
	f()
	var n trips
	for _, r := range m.local.Requests() {
		switch {
		case strings.HasSuffix(r.Path, "/exec"):
			n.execs++
		case r.Method == "PUT":
			n.uploads++
		case strings.Contains(r.Path, "/files/"):
			n.downloads++
		}
	}
	return n
}

// noise is content that does not repeat itself at any size that matters, the same for the same seed.
func noise(seed uint64, size int64) io.Reader {
	block := make([]byte, 1<<20+7)
	var key [32]byte
	key[0] = byte(seed)
	rand.NewChaCha8(key).Read(block) // never fails
	return &repeated{block: block, left: size}
}

type repeated struct {
	block []byte
	at    int
	left  int64
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.next())
	r.took(n)
	return n, nil
}

// WriteTo copies nothing, for the race detector looks at each copy of a byte.
func (r *repeated) WriteTo(w io.Writer) (written int64, err error) {
	for r.left > 0 && err == nil {
		var n int
		n, err = w.Write(r.next())
		r.took(n)
		written += int64(n)
	}
	return written, err
}

func (r *repeated) next() []byte {
	b := r.block[r.at:]
	return b[:min(int64(len(b)), r.left)]
}

func (r *repeated) took(n int) {
	r.at = (r.at + n) % len(r.block)
	r.left -= int64(n)
}

// plain hides everything of a reader but Read, its size in particular.
func plain(r io.Reader) io.Reader { return struct{ io.Reader }{r} }

func sumOf(t *testing.T, r io.Reader) string {
	t.Helper()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// sum is the checksum of a file.
func (m *fileMachine) sum(path string) string {
	m.t.Helper()
	f, err := m.Open(m.t.Context(), path, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	return sumOf(m.t, f)
}

// bent is a backend of which a test changes what it needs.
type bent struct {
	smol.Backend
	files    smol.FileBackend
	traits   func(*smol.Traits)
	upload   func(ctx context.Context, path string, r io.Reader, size int64, next func(r io.Reader, size int64) error) error
	download func(path string, next func() (io.ReadCloser, int64, error)) (io.ReadCloser, int64, error)

	mu      sync.Mutex
	sizes   []int64 // of the uploads, as announced
	uploads []int64 // how many bytes of each were read
}

func bend(b smol.Backend, change func(*bent)) *bent {
	w := &bent{Backend: b, files: b.(smol.FileBackend)}
	change(w)
	return w
}

func (b *bent) Traits() smol.Traits {
	t := b.Backend.Traits()
	if b.traits != nil {
		b.traits(&t)
	}
	return t
}

func (b *bent) Upload(ctx context.Context, id, path string, r io.Reader, size int64) error {
	counted := &counter{Reader: r}
	r = counted
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.sizes = append(b.sizes, size)
		b.uploads = append(b.uploads, counted.n.Load())
	}()
	next := func(r io.Reader, size int64) error { return b.files.Upload(ctx, id, path, r, size) }
	if b.upload != nil {
		return b.upload(ctx, path, r, size, next)
	}
	return next(r, size)
}

type counter struct {
	io.Reader
	n atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

func (b *bent) Download(ctx context.Context, id, path string) (io.ReadCloser, int64, error) {
	next := func() (io.ReadCloser, int64, error) { return b.files.Download(ctx, id, path) }
	if b.download != nil {
		return b.download(path, next)
	}
	return next()
}

// onlyCommands is a fleet that moves no files.
type onlyCommands struct{ smol.Backend }
