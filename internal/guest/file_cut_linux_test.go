package guest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/guest"
)

func TestFileCut(t *testing.T) {
	var content strings.Builder
	for i := 0; content.Len() < 200_000; i++ {
		fmt.Fprintf(&content, "%d\x00\xff\n", i)
	}
	whole := content.String()
	size := int64(len(whole))
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		path := m.root + "/" + oddName
		putFile(t, path, whole, 0o644)
		stage := m.stage(t, "old content").Path
		const block = 65536
		for _, tt := range []struct{ offset, length, window int64 }{
			{0, -1, block},
			{0, 0, 1},
			{0, 1, 1},
			{0, block, block},
			{0, size, size},
			{0, 1 << 50, 2*block + 1},
			{1, -1, 2 * block},
			{1, 1, 1},
			{1, block - 1, block},
			{1, block, block},
			{1, 2*block + 5, 1 << 50},
			{block - 1, 1, 1},
			{block - 1, 2, 2},
			{block, -1, block - 1},
			{block, 1000, 200},
			{block + 1, 1000, 1000},
			{2 * block, 1 << 50, block + 1},
			{size - 1, -1, 1},
			{size - 1, 5, 1},
			{size, -1, 1},
			{size + 1, -1, 1},
			{1 << 50, 1 << 50, 1},
		} {
			from := min(tt.offset, size)
			to := size
			if tt.length >= 0 {
				to = min(from+tt.length, size)
			}
			want := whole[from:to]
			req := &guest.FileCut{Path: path, Offset: tt.offset, Length: tt.length, Inline: size}
			reply := m.want(t, req, guest.FileOK)
			if cut := parseCut(t, reply); string(reply.Body) != want || cut.Size != size || cut.Length != to-from {
				t.Errorf("%+v: %d bytes, %+v; not %d bytes", req, len(reply.Body), cut, len(want))
			}
			if len(want) < 100 {
				continue
			}
			req.Inline = 99
			m.want(t, req, guest.FileBig)
			req.Stage, req.Window = stage, tt.window
			cut := parseCut(t, m.want(t, req, guest.FileStaged))
			window := want[:min(int64(len(want)), tt.window)]
			if got := getFile(t, stage); got != window || cut.Length != int64(len(window)) {
				t.Errorf("%+v: stage has %d bytes, %+v; not %d bytes", req, len(got), cut, len(window))
			}
		}
	})
}

func parseCut(t *testing.T, r *guest.FileReply) *guest.CutReply {
	t.Helper()
	cut, err := r.Cut()
	if err != nil {
		t.Fatal(err)
	}
	return cut
}

func TestFileCutIdentity(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		path := m.root + "/f"
		identity := func() string {
			return parseCut(t, m.want(t, &guest.FileCut{Path: path, Length: 1, Inline: 1}, guest.FileOK)).Identity
		}
		putFile(t, path, "one", 0o644)
		first := identity()
		putFile(t, path, "one and more", 0o644)
		if identity() != first {
			t.Error("writing to a file makes it another one")
		}
		putFile(t, path+"2", "two", 0o644)
		if err := os.Rename(path+"2", path); err != nil {
			t.Fatal(err)
		}
		if identity() == first {
			t.Error("a file that was replaced is taken for the same")
		}
	})
}

// Files of /proc say that their size is zero.
func TestFileCutOfAFileWithoutSize(t *testing.T) {
	const path = "/proc/version"
	want := getFile(t, path)
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		for offset, want := range map[int64]string{0: want, 7: want[7:], int64(len(want)): ""} {
			for _, length := range []int64{-1, 1000, 1001, 1 << 50} {
				req := &guest.FileCut{Path: path, Offset: offset, Length: length, Inline: 1000, Stage: guest.StageDir(m.base) + "/s", Window: 5000}
				if reply := m.want(t, req, guest.FileOK); string(reply.Body) != want {
					t.Errorf("%d from %d: %q, not %q", length, offset, reply.Body, want)
				}
			}
		}
		reply := m.want(t, &guest.FileCut{Path: path, Length: 5, Inline: 1000}, guest.FileOK)
		if string(reply.Body) != want[:5] {
			t.Errorf("%q", reply.Body)
		}
	})
}
