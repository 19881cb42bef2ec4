package smol_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/smol-machines/smol-go/smol"
)

func TestReadFile(t *testing.T) {
	onImages(t, func(t *testing.T, m *fileMachine) {
		m.sh(`cd /root; : >empty; printf 'x\000\377\n' >small; mkdir dir; ln -s small link; ln -s nowhere dangling; mkfifo pipe`)
		tests := []struct {
			path, want string
			err        error
		}{
			{"/root/empty", "", nil},
			{"/root/small", "x\x00\xff\n", nil},
			{"/root/link", "x\x00\xff\n", nil},
			{"/root/no", "", fs.ErrNotExist},
			{"/root/dangling", "", fs.ErrNotExist},
			{"/root/no/no", "", fs.ErrNotExist},
			{"/root/small/no", "", smol.ErrInvalid},
			{"/root/dir", "", smol.ErrInvalid},
			{"/", "", smol.ErrInvalid},
			{"/root/pipe", "", smol.ErrInvalid},
			{"/dev/null", "", smol.ErrInvalid},
		}
		for _, tt := range tests {
			got, err := m.ReadFile(t.Context(), tt.path)
			if !errors.Is(err, tt.err) || string(got) != tt.want {
				t.Errorf("%s: %q, %v; want %q, %v", tt.path, got, err, tt.want, tt.err)
			}
			var e *smol.Error
			if tt.err != nil && (!errors.As(err, &e) || e.Path != tt.path || e.Op != "read file" || errors.Is(err, smol.ErrNotFound) != (tt.err == fs.ErrNotExist)) {
				t.Errorf("%s: %#v", tt.path, err)
			}
		}
	})
}

// Files of /proc say that they are empty.
func TestReadFileOfProc(t *testing.T) {
	onImages(t, func(t *testing.T, m *fileMachine) {
		want := m.sh("cat /proc/version")
		m.wantContent("/proc/version", want)
		m.sh("ln -s /proc/version /root/version")
		m.wantContent("/root/version", want)
		f, err := m.Open(t.Context(), "/proc/version", &smol.OpenOptions{Offset: 6, Length: 7})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, err := io.ReadAll(f); err != nil || string(got) != want[6:13] {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestOpenRanges reads parts of a file that begin and end on both sides of every limit.
func TestOpenRanges(t *testing.T) {
	const mib = 1 << 20
	const inline = mib / 4
	// Two windows of 64 MiB are for long runs: the race detector looks at each byte of them several times.
	size, toEnd := int64(3*mib+3), trips{2, 0, 1}
	if all() {
		size, toEnd = 65*mib+3, trips{3, 0, 2}
	}
	var whole bytes.Buffer
	if _, err := io.Copy(&whole, noise(7, size)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		offset, length int64
		rare           bool // whether to leave it to long runs
		want           trips
	}{
		{0, 1, false, trips{1, 0, 0}},
		{0, inline, false, trips{1, 0, 0}},
		{0, inline + 1, false, trips{2, 0, 1}},
		{0, size, true, trips{3, 0, 2}},
		{0, 1 << 60, true, trips{3, 0, 2}},
		{1, 0, false, toEnd},
		{1, 64 * mib, true, trips{2, 0, 1}},
		{1, 64*mib + 1, true, trips{3, 0, 1}},
		{mib - 1, 2, false, trips{1, 0, 0}},
		{size - 3, 0, false, trips{1, 0, 0}},
		{size - inline, 0, false, trips{1, 0, 0}},
		{size - inline - 1, 0, false, trips{2, 0, 1}},
		{size - 1, 5, false, trips{1, 0, 0}},
		{size, 0, false, trips{1, 0, 0}},
		{size + 1, 0, false, trips{1, 0, 0}},
		{1 << 60, 7, false, trips{1, 0, 0}},
	}
	m := newFileMachine(t, smol.Spec{Image: "busybox"}, nil)
	if err := m.Put(t.Context(), "/root/f", bytes.NewReader(whole.Bytes()), nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		if tt.rare && !all() {
			continue
		}
		t.Run(fmt.Sprintf("%d+%d", tt.offset, tt.length), func(t *testing.T) {
			from, to := min(tt.offset, size), size
			if tt.length > 0 {
				to = min(from+tt.length, size)
			}
			want := whole.Bytes()[from:to]
			n := m.count(func() {
				f, err := m.Open(t.Context(), "/root/f", &smol.OpenOptions{Offset: tt.offset, Length: tt.length})
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if f.Size() != int64(len(want)) {
					t.Errorf("size is %d, not %d", f.Size(), len(want))
				}
				var got bytes.Buffer
				if _, err := io.Copy(&got, f); err != nil || !bytes.Equal(got.Bytes(), want) {
					t.Errorf("%d bytes, not %d; %v", got.Len(), len(want), err)
				}
			})
			if n != tt.want {
				t.Errorf("%+v, not %+v", n, tt.want)
			}
		})
	}
	m.wantNoStage()
}

// A File obeys the rules for readers, and gives its place back.
func TestFileIsAReader(t *testing.T) {
	m := newFileMachine(t, smol.Spec{}, nil)
	var whole bytes.Buffer
	if _, err := io.Copy(&whole, noise(3, 300_000)); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 300_000} {
		want := whole.Bytes()[:size]
		if err := m.WriteFile(t.Context(), "/root/f", want, nil); err != nil {
			t.Fatal(err)
		}
		for _, opts := range []*smol.OpenOptions{nil, {Length: 1 << 40}} {
			f, err := m.Open(t.Context(), "/root/f", opts)
			if err != nil {
				t.Fatal(err)
			}
			if err := iotest.TestReader(plain(f), want); err != nil {
				t.Errorf("%d bytes, %+v: %v", size, opts, err)
			}
			if f.Size() != int64(size) {
				t.Errorf("size is %d, not %d", f.Size(), size)
			}
			for range 2 {
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
			if _, err := f.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("reading a closed file: %v", err)
			}
		}
	}
	// More than there are places, each read to its end or closed early.
	for i := range 20 {
		f, err := m.Open(t.Context(), "/root/f", nil)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		} else if n, err := io.Copy(io.Discard, f); err != nil || n != 300_000 {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	// Small files occupy nothing.
	if err := m.WriteFile(t.Context(), "/root/small", []byte("small"), nil); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		f, err := m.Open(t.Context(), "/root/small", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
}

func TestOpenCancelled(t *testing.T) {
	m := newFileMachine(t, smol.Spec{}, nil)
	if err := m.WriteFile(t.Context(), "/root/f", make([]byte, 8<<20), nil); err != nil {
		t.Fatal(err)
	}
	for _, opts := range []*smol.OpenOptions{nil, {Offset: 1}} {
		ctx, cancel := context.WithCancel(t.Context())
		f, err := m.Open(ctx, "/root/f", opts)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(f, make([]byte, 100_000)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := io.Copy(io.Discard, f); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v: reading on gives %v", opts, err)
		}
		f.Close()
		if _, err := m.Open(ctx, "/root/f", opts); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v: opening gives %v", opts, err)
		}
	}
	m.wantNoStage()
}

// A download that breaks off is never taken for the whole file.
func TestOpenCutOff(t *testing.T) {
	var cutAt int64
	m := newFileMachine(t, smol.Spec{}, func(next smol.Backend) smol.Backend {
		return bend(next, func(b *bent) {
			b.download = func(_ string, next func() (io.ReadCloser, int64, error)) (io.ReadCloser, int64, error) {
				body, size, err := next()
				if err == nil && cutAt >= 0 {
					body = struct {
						io.Reader
						io.Closer
					}{io.LimitReader(body, cutAt), body}
				}
				return body, size, err
			}
		})
	})
	if err := m.WriteFile(t.Context(), "/root/f", make([]byte, 2<<20), nil); err != nil {
		t.Fatal(err)
	}
	for _, cutAt = range []int64{1, 1000, 64 << 10, 1 << 20, 2<<20 - 2} {
		for _, opts := range []*smol.OpenOptions{nil, {Offset: 1}} {
			f, err := m.Open(t.Context(), "/root/f", opts)
			if err == nil {
				_, err = io.Copy(io.Discard, f)
				f.Close()
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, smol.ErrUnavailable) {
				t.Errorf("cut at %d, %+v: %v", cutAt, opts, err)
			}
		}
	}
	cutAt = -1
	m.wantNoStage()
}

// A file above what one download carries comes in parts.
func TestOpenAboveTheDownloadLimit(t *testing.T) {
	const limit = 100_000
	m := newFileMachine(t, smol.Spec{}, func(next smol.Backend) smol.Backend {
		return bend(next, func(b *bent) {
			b.traits = func(t *smol.Traits) { t.MaxDownload = limit }
			b.download = func(path string, next func() (io.ReadCloser, int64, error)) (io.ReadCloser, int64, error) {
				if path == "/root/f" {
					return nil, 0, &smol.Error{Code: smol.CodeInternal, Status: 500, Message: "file too large"}
				}
				return next()
			}
		})
	})
	want := bytes.Repeat([]byte("0123456789"), limit/2)
	if err := m.WriteFile(t.Context(), "/root/f", want, nil); err != nil {
		t.Fatal(err)
	}
	m.wantContent("/root/f", string(want))
	m.wantNoStage()
	// One that is refused for another reason is not.
	if err := m.WriteFile(t.Context(), "/root/f", []byte("small"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := m.ReadFile(t.Context(), "/root/f"); err == nil || !strings.Contains(err.Error(), "file too large") {
		t.Errorf("got %v", err)
	}
}

// A file that is replaced between two parts is not put together from both.
func TestOpenReplaced(t *testing.T) {
	m := newFileMachine(t, smol.Spec{}, func(next smol.Backend) smol.Backend { return onlyCommands{next} })
	for name, tt := range map[string]struct {
		change string
		want   error
	}{
		"replaced":  {"cp /root/f /root/g; mv /root/g /root/f", smol.ErrConflict},
		"removed":   {"rm /root/f", fs.ErrNotExist},
		"shortened": {": >/root/f", io.ErrUnexpectedEOF},
		"longer":    {"echo more >>/root/f", nil},
	} {
		m.sh(`i=0; while [ $i -lt 6000 ]; do echo "line $i of a file of three parts, as commands give it ............................."; i=$((i+1)); done >/root/f`)
		f, err := m.Open(t.Context(), "/root/f", nil)
		if err != nil {
			t.Fatal(err)
		}
		m.sh(tt.change)
		if n, err := io.Copy(io.Discard, f); !errors.Is(err, tt.want) || err == nil && n != f.Size() {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
		f.Close()
	}
	m.wantNoStage()
}
