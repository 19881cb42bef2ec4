package private_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"github.com/smol-machines/smol-go/internal/private"
)

// TestReplaceOpenFile replaces a file that another program has open for a while, and one that stays open.
func TestReplaceOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		open time.Duration
		want string
	}{{100 * time.Millisecond, "new"}, {time.Hour, "old"}} {
		h, err := windows.CreateFile(name, windows.GENERIC_READ, windows.FILE_SHARE_READ, nil, windows.OPEN_EXISTING, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		closer := time.AfterFunc(tt.open, func() { windows.CloseHandle(h) })
		err = private.Replace(path, []byte("new"))
		if closer.Stop() {
			windows.CloseHandle(h)
		}
		got, readErr := os.ReadFile(path)
		if string(got) != tt.want || readErr != nil || (err == nil) != (tt.want == "new") {
			t.Errorf("open for %v: %q, %v, %v", tt.open, got, err, readErr)
		}
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
