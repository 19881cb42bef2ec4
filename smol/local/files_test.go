package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/smol-machines/smol-go/smol"
)

// receives answers an upload as the service does.
func receives(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	says(fmt.Sprintf(`{"path":%q,"size":%d}`, strings.SplitN(r.URL.Path, "/files", 2)[1], n))(w, r)
}

func TestUpload(t *testing.T) {
	var got struct {
		length int64
		typ    string
		uri    string
		body   string
	}
	s := &server{t: t}
	s.run(s.listen(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.length, got.typ, got.uri = r.ContentLength, r.Header.Get("Content-Type"), r.RequestURI
		body, _ := io.ReadAll(r.Body)
		got.body = string(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		receives(w, r)
	}))
	b := s.backend()
	for _, tt := range []struct {
		name, path, uri string
		r               io.Reader
		size, length    int64
		body            string
	}{
		{"sized", "/tmp/a.txt", "tmp/a.txt", strings.NewReader("hello"), 5, 5, "hello"},
		{"not sized", "/tmp/a.txt", "tmp/a.txt", strings.NewReader("hello"), -1, -1, "hello"},
		{"empty", "/a", "a", strings.NewReader(""), 0, 0, ""},
		{"empty and not sized", "/a", "a", strings.NewReader(""), -1, -1, ""},
		{"byte by byte", "/a", "a", iotest.OneByteReader(strings.NewReader("hello")), 5, 5, "hello"},
		{"end with the data", "/a", "a", iotest.DataErrReader(strings.NewReader("hello")), 5, 5, "hello"},
		{"odd path", "//a b/./ü?#%2e%2F/\n", "a%20b/%C3%BC%3F%23%252e%252F/%0A", strings.NewReader("x"), 1, 1, "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := b.Upload(t.Context(), "m", tt.path, tt.r, tt.size); err != nil {
				t.Fatal(err)
			}
			if got.length != tt.length || got.body != tt.body || got.typ != "application/octet-stream" || got.uri != "/api/v1/machines/m/files/"+tt.uri {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestUploadOfAnotherSize wants nothing written that is not what was announced: the service must not get all it was promised.
func TestUploadOfAnotherSize(t *testing.T) {
	var written atomic.Int64
	s := &server{t: t}
	s.run(s.listen(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			written.Add(1)
		}
		receives(w, r)
	}))
	b := s.backend()
	cause := errors.New("disk on fire")
	for _, tt := range []struct {
		name string
		r    io.Reader
		size int64
		is   error
		says string
	}{
		{"more", strings.NewReader("hello"), 4, smol.ErrInvalid, "more to write"},
		{"more, byte by byte", iotest.OneByteReader(strings.NewReader("hello")), 4, smol.ErrInvalid, "more to write"},
		{"more than nothing", strings.NewReader("hello"), 0, smol.ErrInvalid, "more to write"},
		{"less", strings.NewReader("hello"), 6, io.ErrUnexpectedEOF, "only 5 of the 6"},
		{"none", strings.NewReader(""), 6, io.ErrUnexpectedEOF, "only 0 of the 6"},
		{"a reader that fails", io.MultiReader(strings.NewReader("he"), iotest.ErrReader(cause)), 5, cause, "disk on fire"},
		{"a reader that fails, not sized", io.MultiReader(strings.NewReader("he"), iotest.ErrReader(cause)), -1, cause, "disk on fire"},
		{"a reader that fails at the end", io.MultiReader(strings.NewReader("hello"), iotest.ErrReader(cause)), 5, cause, "disk on fire"},
		{"too large", strings.NewReader(""), 100<<20 + 1, smol.ErrInvalid, "too large"},
		{"too large, not sized", io.LimitReader(zeros{}, 100<<20+1), -1, smol.ErrInvalid, "too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := b.Upload(t.Context(), "m", "/a", tt.r, tt.size)
			e := asError(t, err)
			if !errors.Is(err, tt.is) || !strings.Contains(e.Error(), tt.says) || e.Op != "write file" || e.Path != "/a" || e.Machine != "m" {
				t.Errorf("got %+v", e)
			}
		})
	}
	if n := written.Load(); n != 0 {
		t.Errorf("%d uploads were complete", n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestUploadLost is the service that says it wrote, and wrote something else.
func TestUploadLost(t *testing.T) {
	s := serve(t, answers{"PUT /machines/m/files/a": says(`{"path":"/a","size":4}`)})
	err := s.backend().Upload(t.Context(), "m", "/a", strings.NewReader("hello"), 5)
	if e := asError(t, err); e.Code != smol.CodeUnknown || !strings.Contains(e.Message, "5 bytes were sent and the service wrote 4") {
		t.Errorf("got %+v", e)
	}
}

// TestUploadRefusedEarly answers without reading, and hangs up.
func TestUploadRefusedEarly(t *testing.T) {
	s := &server{t: t}
	s.run(s.listen(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, "Failed to buffer the request body: length limit exceeded")
	}))
	err := s.backend().Upload(t.Context(), "m", "/a", io.LimitReader(zeros{}, 90<<20), 90<<20)
	if e := asError(t, err); e.Status != 413 || e.Code != smol.CodeInvalid || !strings.Contains(e.Hint, "100 MiB") {
		t.Errorf("got %+v", e)
	}
}

// TestUploadReadsNoMore wants the reader left alone once the call is over.
func TestUploadReadsNoMore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &server{t: t}
	s.run(s.listen(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 10))
		cancel()
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	var over, late atomic.Bool
	err := s.backend().Upload(ctx, "m", "/a", readerFunc(func(p []byte) (int, error) {
		late.Store(late.Load() || over.Load())
		clear(p)
		return len(p), nil
	}), -1)
	over.Store(true)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	runtime.Gosched()
	if late.Load() {
		t.Error("the reader was used after the call")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestDownload(t *testing.T) {
	content := strings.Repeat("\x00\xff\r\n", 100_000)
	s := serve(t, answers{
		"GET /machines/m/files/tmp/a%20b": func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Accept-Encoding"); got != "" {
				t.Errorf("asks for %q", got)
			}
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			_, _ = io.WriteString(w, content)
		},
		"GET /machines/m/files/chunked": func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, content)
		},
		"GET /machines/m/files/cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			_, _ = io.WriteString(w, content[:1000])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	})
	b := s.backend()
	for path, size := range map[string]int64{"/tmp/a b": int64(len(content)), "/chunked": -1} {
		r, n, err := b.Download(t.Context(), "m", path)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil || string(data) != content || n != size {
			t.Errorf("%s: %d bytes of %d, %v", path, len(data), n, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	r, _, err := b.Download(t.Context(), "m", "/cut")
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadAll(r)
	if e := asError(t, err); e.Code != smol.CodeUnavailable || e.Path != "/cut" || e.Op != "read file" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %+v", e)
	}
	_ = r.Close()
}

func TestDownloadCancelledWithin(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, answers{"GET /machines/m/files/a": func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "beginning")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}})
	r, _, err := s.backend().Download(ctx, "m", "/a")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if _, err := io.ReadFull(r, make([]byte, 9)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestFileFailures: the service says 500 to all of them.
func TestFileFailures(t *testing.T) {
	for _, tt := range []struct {
		text string
		code smol.Code
		is   error
		not  error
	}{
		{"agent operation failed: read file: failed to open /x: No such file or directory (os error 2)", smol.CodeNotFound, fs.ErrNotExist, nil},
		{"agent operation failed: read file: failed to canonicalize target /x: No such file or directory (os error 2)", smol.CodeNotFound, fs.ErrNotExist, nil},
		{"agent operation failed: read file: failed to read /x in the workload container: open /x: No such file or directory", smol.CodeNotFound, fs.ErrNotExist, nil},
		{"agent operation failed: read file: not a regular file: /x", smol.CodeInvalid, smol.ErrInvalid, fs.ErrNotExist},
		{"not a regular file: /x", smol.CodeInvalid, smol.ErrInvalid, fs.ErrNotExist},
		{"agent operation failed: write file: failed to rename: Is a directory (os error 21)", smol.CodeInvalid, smol.ErrInvalid, nil},
		{"agent operation failed: write file: mkdir: Not a directory (os error 20)", smol.CodeInvalid, smol.ErrInvalid, nil},
		{"agent operation failed: write file: Permission denied (os error 13)", smol.CodePermissionDenied, fs.ErrPermission, nil},
		{"agent operation failed: write file: Read-only file system (os error 30)", smol.CodePermissionDenied, fs.ErrPermission, nil},
		{"agent operation failed: write file: No space left on device (os error 28)", smol.CodeInternal, nil, fs.ErrNotExist},
		{"io operation failed: No such file or directory (os error 2)", smol.CodeInternal, nil, fs.ErrNotExist},
	} {
		s := serve(t, answers{"GET /machines/m/files/x": fails(500, "INTERNAL_ERROR", tt.text), "PUT /machines/m/files/x": fails(500, "INTERNAL_ERROR", tt.text)})
		b := s.backend()
		_, _, read := b.Download(t.Context(), "m", "/x")
		write := b.Upload(t.Context(), "m", "/x", strings.NewReader("hi"), 2)
		for _, err := range []error{read, write} {
			e := asError(t, err)
			if e.Code != tt.code || e.Path != "/x" || tt.is != nil && !errors.Is(err, tt.is) || tt.not != nil && errors.Is(err, tt.not) {
				t.Errorf("%s: %+v", tt.text, e)
			}
		}
	}
	// What the path says does not count.
	s := serve(t, answers{"GET /machines/m/files/No%20such%20file%20or%20directory": fails(500, "INTERNAL_ERROR", "agent operation failed: read file: /No such file or directory: input/output error")})
	if _, _, err := s.backend().Download(t.Context(), "m", "/No such file or directory"); errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestHostilePaths(t *testing.T) {
	s := serve(t, nil)
	b := s.backend()
	for _, path := range []string{"", "a", "/", "/a/", "/..", "/a/../b", "../a", "/a\x00b", "/\xff", "/" + strings.Repeat("x", 5000)} {
		_, _, read := b.Download(t.Context(), "m", path)
		for _, err := range []error{read, b.Upload(t.Context(), "m", path, strings.NewReader(""), 0)} {
			if e := asError(t, err); e.Code != smol.CodeInvalid || !strings.Contains(e.Message, "path") {
				t.Errorf("%.50q: %+v", path, e)
			}
		}
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestFilesAreNotBuffered moves 256 MiB down and 100 MiB up and looks at the heap.
func TestFilesAreNotBuffered(t *testing.T) {
	const down, up, growth = 256 << 20, 100 << 20, 8 << 20
	s := &server{t: t}
	s.run(s.listen(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			receives(w, r)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(down))
		_, _ = io.Copy(w, io.LimitReader(zeros{}, down))
	}))
	b := s.backend()
	watch := &heapWatch{}
	watch.base = watch.heap()
	if err := b.Upload(t.Context(), "m", "/a", io.TeeReader(io.LimitReader(zeros{}, up), watch), up); err != nil {
		t.Fatal(err)
	}
	r, n, err := b.Download(t.Context(), "m", "/a")
	if err != nil || n != down {
		t.Fatal(n, err)
	}
	if n, err := io.Copy(watch, r); n != down || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	_ = r.Close()
	if watch.most > growth {
		t.Errorf("the heap grew by %d bytes", watch.most)
	}
}

// heapWatch measures the heap every 16 MiB that are written to it.
type heapWatch struct{ n, base, most int64 }

func (h *heapWatch) Write(p []byte) (int, error) {
	if before := h.n; before>>24 != (before+int64(len(p)))>>24 {
		h.most = max(h.most, h.heap()-h.base)
	}
	h.n += int64(len(p))
	return len(p), nil
}

func (h *heapWatch) heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
