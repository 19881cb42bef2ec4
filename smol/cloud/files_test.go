package cloud_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

const filesPrefix = "/machines/" + id + "/files/"

// readFile is a download to its end.
func readFile(ctx context.Context, b *cloud.Backend, path string) (string, int64, error) {
	r, size, err := b.Download(ctx, id, path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	return string(data), size, err
}

func TestDownload(t *testing.T) {
	content := "\x00\xff\r\n"
	s := serve(t, answers{
		"GET " + filesPrefix + "srv/a.bin": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "" {
				t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
			}
			_, _ = io.WriteString(w, content)
		},
		"GET " + filesPrefix + "empty": func(http.ResponseWriter, *http.Request) {},
		"GET " + filesPrefix + "stream": func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, content)
		},
		"GET " + filesPrefix + "a%20b/%3Fx=1%23/%25/%C3%BC": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "odd") },
	})
	b := s.backend()
	for _, tt := range []struct {
		path, want string
		size       int64
	}{
		{"/srv/a.bin", content, 4}, {"//srv/./a.bin", content, 4}, {"/empty", "", 0}, {"/stream", content, -1}, {"/a b/?x=1#/%/ü", "odd", 3},
	} {
		got, size, err := readFile(t.Context(), b, tt.path)
		if err != nil || got != tt.want || size != tt.size {
			t.Errorf("%s: %q, %d, %v", tt.path, got, size, err)
		}
	}
}

func TestDownloadIsCut(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"of known length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "abc")
		},
		"of unknown length": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "abc")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		s := serve(t, answers{"GET " + filesPrefix + "x": answer})
		got, _, err := readFile(t.Context(), s.backend(), "/x")
		if e := asError(t, err); got != "abc" || !errors.Is(err, smol.ErrUnavailable) || e.Path != "/x" || e.Machine != id {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if s.count("GET "+filesPrefix+"x") != 1 {
			t.Errorf("%s: what had begun to come was asked for again", name)
		}
	}
}

// onlyReader hides what else a reader can do.
type onlyReader struct{ io.Reader }

func TestUpload(t *testing.T) {
	var mu sync.Mutex
	var got []string
	var length []int64
	put := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		mu.Lock()
		got, length = append(got, string(body)), append(length, r.ContentLength)
		mu.Unlock()
		if r.Header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("Content-Type is %q", r.Header.Get("Content-Type"))
		}
		if len(body)%2 == 0 {
			says(`{"path":"/x","size":0}`)(w, r)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
	s := serve(t, answers{"PUT " + filesPrefix + "srv/x": put})
	b := s.backend()
	big := strings.Repeat("x", 3<<20)
	for _, tt := range []struct {
		r      io.Reader
		size   int64
		want   string
		length int64
	}{
		{strings.NewReader("abc"), 3, "abc", 3},
		{onlyReader{strings.NewReader("abcd")}, 4, "abcd", 4},
		{onlyReader{strings.NewReader("abc")}, -1, "abc", -1},
		{strings.NewReader(""), 0, "", 0},
		{onlyReader{strings.NewReader(big)}, -1, big, -1},
	} {
		got, length = nil, nil
		if err := b.Upload(t.Context(), id, "/srv/x", tt.r, tt.size); err != nil || len(got) != 1 || got[0] != tt.want || length[0] != tt.length {
			t.Errorf("%d bytes: %v, got %.20q of length %d", tt.size, err, got, length)
		}
	}
	// What is not as announced is not written.
	got = nil
	for _, tt := range []struct {
		text string
		size int64
		want string
	}{
		{"abc", 2, "more to write"}, {"abc", 4, "only 3 of the 4"}, {"abc", 0, "more to write"},
	} {
		err := b.Upload(t.Context(), id, "/srv/x", onlyReader{strings.NewReader(tt.text)}, tt.size)
		if e := asError(t, err); !errors.Is(err, smol.ErrInvalid) || !strings.Contains(e.Message, tt.want) || e.Path != "/srv/x" {
			t.Errorf("%d bytes for %q: %v", tt.size, tt.text, err)
		}
	}
	bad := errors.New("disk on fire")
	err := b.Upload(t.Context(), id, "/srv/x", io.MultiReader(strings.NewReader("ab"), failing{bad}), -1)
	if !errors.Is(err, bad) || !strings.Contains(err.Error(), "reading what is to be written") {
		t.Errorf("a source that fails: %v", err)
	}
	if len(got) > 0 {
		t.Errorf("wrote %q", got)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestFilesAreNotMovedHere: whether a service has the route shows at the first call, and "not found" is no missing file before that.
func TestFilesAreNotMovedHere(t *testing.T) {
	for name, no := range map[string]http.HandlerFunc{
		"404, empty":  empty(http.StatusNotFound),
		"404, route":  saysStatus(http.StatusNotFound, `{"code":"NOT_FOUND","error":"route not found"}`),
		"405":         empty(http.StatusMethodNotAllowed),
		"501":         fails(http.StatusNotImplemented, "", "not built"),
		"404, a page": saysStatus(http.StatusNotFound, "<html>nothing here"),
	} {
		s := serve(t, answers{"GET " + filesPrefix + "x": no, "PUT " + filesPrefix + "x": no})
		b := s.backend()
		if _, _, err := b.Download(t.Context(), id, "/x"); !errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: download: %v", name, err)
		}
		if err := b.Upload(t.Context(), id, "/x", strings.NewReader("x"), 1); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: upload: %v", name, err)
		}
	}
}

// TestMissingFiles: a file that is missing and a machine that is missing are two things, in whatever words the service has.
func TestMissingFiles(t *testing.T) {
	proof := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }
	text := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, text)
		}
	}
	for _, tt := range []struct {
		name    string
		answer  http.HandlerFunc
		proven  bool
		get     http.HandlerFunc // nil: must not be asked
		file    bool             // the file is missing, not the machine
		missing bool
	}{
		{"it says the file", text("file not found: x"), false, nil, true, true},
		{"it says the file, in JSON", fails(http.StatusNotFound, "not_found", "file not found: x"), false, nil, true, true},
		{"it says the machine", fails(http.StatusNotFound, "not_found", "machine not found"), false, nil, false, true},
		{"it says nothing, and has moved files", empty(http.StatusNotFound), true, says(machine("started")), true, true},
		{"it says nothing, and the machine is gone", empty(http.StatusNotFound), true, gone, false, true},
		{"an older way to say it", fails(http.StatusInternalServerError, "", "open: No such file or directory (os error 2)"), false, nil, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			routes := answers{"GET " + filesPrefix + "x": tt.answer, "GET " + filesPrefix + "proof": proof}
			if tt.get != nil {
				routes[getRoute] = tt.get
			}
			s := serve(t, routes)
			b := s.backend()
			if tt.proven {
				if _, _, err := readFile(t.Context(), b, "/proof"); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := b.Download(t.Context(), id, "/x")
			if !errors.Is(err, smol.ErrNotFound) || errors.Is(err, fs.ErrNotExist) != tt.file {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestFileFailures(t *testing.T) {
	for _, tt := range []struct {
		status int
		text   string
		want   error
	}{
		{500, "read srv/x: Is a directory (os error 21)", smol.ErrInvalid},
		{500, "write srv/x: Not a directory", smol.ErrInvalid},
		{500, "write srv/x: Permission denied", fs.ErrPermission},
		{500, "write srv/x: Read-only file system", fs.ErrPermission},
		{403, "missing scope: machine:files", fs.ErrPermission},
		{503, "node is down", smol.ErrUnavailable},
	} {
		s := serve(t, answers{
			"GET " + filesPrefix + "srv/x": fails(tt.status, "", tt.text), "PUT " + filesPrefix + "srv/x": fails(tt.status, "", tt.text),
		})
		b := s.backend()
		if _, _, err := b.Download(t.Context(), id, "/srv/x"); !errors.Is(err, tt.want) || asError(t, err).Path != "/srv/x" {
			t.Errorf("read: %s: %v", tt.text, err)
		}
		if err := b.Upload(t.Context(), id, "/srv/x", strings.NewReader("x"), 1); !errors.Is(err, tt.want) || asError(t, err).Path != "/srv/x" {
			t.Errorf("write: %s: %v", tt.text, err)
		}
		if n := s.count("PUT " + filesPrefix + "srv/x"); n != 1 {
			t.Errorf("%s: sent %d times", tt.text, n)
		}
	}
}

// TestParentsAreMade: the service does not promise to.
func TestParentsAreMade(t *testing.T) {
	for name, missing := range map[string]http.HandlerFunc{
		"404": fails(http.StatusNotFound, "", "file not found: a/b"),
		"500": fails(http.StatusInternalServerError, "", "open a/b/x: No such file or directory"),
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			put := func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = append(got, string(body))
				w.WriteHeader(http.StatusNoContent)
			}
			s := serve(t, answers{"PUT " + filesPrefix + "a/b/x": inTurn(missing, put), execRoute: says(`{"exitCode":0}`)})
			r := strings.NewReader("skipped content")
			if _, err := r.Seek(8, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			if err := s.backend().Upload(t.Context(), id, "/a/b/x", r, 7); err != nil || len(got) != 1 || got[0] != "content" {
				t.Errorf("%v: wrote %q", err, got)
			}
			if argv := s.bodyOf(execRoute)["command"].([]any); argv[0] != "mkdir" || argv[len(argv)-1] != "/a/b" {
				t.Errorf("ran %q", argv)
			}

			// What cannot be read again is not.
			s = serve(t, answers{"PUT " + filesPrefix + "a/b/x": missing})
			err := s.backend().Upload(t.Context(), id, "/a/b/x", onlyReader{strings.NewReader("content")}, -1)
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(hintOf(err), "MkdirAll") {
				t.Errorf("%v, hint %q", err, hintOf(err))
			}

			// A directory that cannot be made leaves the error as it was.
			s = serve(t, answers{"PUT " + filesPrefix + "a/b/x": missing, execRoute: says(`{"exitCode":1}`)})
			if err := s.backend().Upload(t.Context(), id, "/a/b/x", strings.NewReader("content"), 7); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		})
	}
}

func TestHostilePaths(t *testing.T) {
	s := serve(t, answers{})
	b := s.backend()
	for _, bad := range []string{"", "x", "/", "/a/", "/a/../b", "/..", "/a/.", "/a\x00b", "/\xff", "/" + strings.Repeat("x", 1<<13)} {
		if _, _, err := b.Download(t.Context(), id, bad); !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("%.20q: %v", bad, err)
		}
		if err := b.Upload(t.Context(), id, bad, bytes.NewReader(nil), 0); !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if got := s.requests(); len(got) > 0 {
		t.Errorf("sent %q", got)
	}
}

// TestUploadIsCancelled: the source is not read any more once the call is over.
func TestUploadIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, answers{"PUT " + filesPrefix + "x": func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
		cancel()
		_, _ = io.Copy(io.Discard, r.Body)
	}})
	src := &endless{}
	if err := s.backend().Upload(ctx, id, "/x", src, -1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	before := src.reads()
	s.t.Cleanup(func() {
		if now := src.reads(); now > before+1 { // one may have been under way
			t.Errorf("read %d times after the call", now-before)
		}
	})
}

type endless struct {
	mu sync.Mutex
	n  int
}

func (e *endless) Read(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n++
	return len(p), nil
}

func (e *endless) reads() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}
