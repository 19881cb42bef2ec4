package guest_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/smol-machines/smol-go/internal/guest"
)

// fileTools is a shell and the tools it finds, as a machine's image has them.
type fileTools struct {
	name string
	path string // PATH
}

// allFileTools returns the shells that the script has to work with.
func allFileTools(t *testing.T) []fileTools {
	t.Helper()
	var sets []fileTools
	for _, name := range []string{"busybox", "dash", "bash"} {
		program, err := exec.LookPath(name)
		if err != nil {
			if os.Getenv("SMOL_REQUIRE_SANDBOX") == "1" {
				t.Fatalf("%v: install %s", err, name)
			}
			t.Logf("not on %s: %v; install it", name, err)
			continue
		}
		bin := t.TempDir()
		path := bin
		if name == "busybox" {
			if out, err := exec.Command(program, "--install", "-s", bin).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		} else {
			if err := os.Symlink(program, filepath.Join(bin, "sh")); err != nil {
				t.Fatal(err)
			}
			path += ":/usr/bin:/bin"
		}
		openDir(t, bin)
		sets = append(sets, fileTools{name, path})
	}
	if len(sets) == 0 {
		t.Skip("none of busybox, dash and bash is installed")
	}
	return sets
}

// onFileGuests runs the test on every fileTools.
func onFileGuests(t *testing.T, test func(t *testing.T, s *fileGuest)) {
	for _, set := range allFileTools(t) {
		t.Run(set.name, func(t *testing.T) {
			m := &fileGuest{fileTools: set, root: t.TempDir()}
			openDir(t, m.root)
			m.base = m.root + "/base"
			reply := m.run(t, &guest.FileBase{Bases: []string{m.base}})
			if reply.Status != guest.FileOK {
				t.Fatalf("base: %+v", reply)
			}
			test(t, m)
		})
	}
}

// fileGuest runs requests on files of the host under root.
type fileGuest struct {
	fileTools
	root, base string
	prepare    func(*exec.Cmd) // may be nil
	stderr     string          // of the last request
	stages     int
}

func (m *fileGuest) exec(t *testing.T, argv []string) []byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), filepath.Join(filepath.SplitList(m.path)[0], "sh"))
	c.Args = argv
	c.Env = []string{"PATH=" + m.path, "CDPATH=/", "TAR_OPTIONS=--nonsense", "LC_ALL=C.UTF-8"}
	c.Dir = "/"
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if m.prepare != nil {
		m.prepare(c)
	}
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	m.stderr = stderr.String()
	return stdout.Bytes()
}

func (m *fileGuest) run(t *testing.T, req guest.FileRequest) *guest.FileReply {
	t.Helper()
	out := m.exec(t, req.Argv())
	reply, err := guest.ParseFileReply(out)
	if err != nil {
		t.Fatalf("%v: %q, stderr %q", err, out, m.stderr)
	}
	return reply
}

// want runs the request and fails the test if it ends otherwise.
func (m *fileGuest) want(t *testing.T, req guest.FileRequest, status guest.FileStatus) *guest.FileReply {
	t.Helper()
	reply := m.run(t, req)
	if reply.Status != status {
		t.Fatalf("%T is %s %q, not %s; stderr %q", req, reply.Status, reply.Fields, status, m.stderr)
	}
	return reply
}

// stage puts content into the stage directory, as an upload does.
func (m *fileGuest) stage(t *testing.T, content string) guest.FilePiece {
	t.Helper()
	m.stages++
	path := filepath.Join(guest.StageDir(m.base), "s"+string(rune('a'+m.stages)))
	putFile(t, path, content, 0o644)
	return guest.FilePiece{Path: path, Size: int64(len(content))}
}

// noStages fails the test if a stage is left, or a temporary file beside a target.
func (m *fileGuest) noStages(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(guest.StageDir(m.base))
	if err != nil || len(left) > 0 {
		t.Errorf("stages are left: %v, %v", left, err)
	}
	err = filepath.WalkDir(m.root, func(path string, d os.DirEntry, err error) error {
		if err == nil && len(d.Name()) > 6 && d.Name()[:6] == ".smol-" {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// openDir lets other users into a temporary directory of the test.
func openDir(t *testing.T, dir string) {
	t.Helper()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func putFile(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func getFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func readRecords(t *testing.T, r io.Reader) []*guest.FileRecord {
	t.Helper()
	var out []*guest.FileRecord
	for rec, err := range guest.ReadFileRecords(r) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}
