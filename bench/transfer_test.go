//go:build bench

package bench

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

const mib = 1 << 20

// rawPut uploads size bytes with net/http alone.
func rawPut(m *smol.Machine, path string, size int64) error {
	req, err := http.NewRequest(http.MethodPut, fileURL(m, path), io.LimitReader(zeros{}, size))
	if err != nil {
		return err
	}
	req.ContentLength = size
	resp, err := service.raw.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("upload: %s", resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// rawGet downloads a file with net/http alone.
func rawGet(m *smol.Machine, path string, size int64) error {
	resp, err := service.raw.Get(fileURL(m, path))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && n != size {
		err = fmt.Errorf("download: %d bytes of %d", n, size)
	}
	return err
}

// atLeast holds a transfer to a share of the speed of a raw copy.
func atLeast(t *testing.T, what string, share float64, size int64, raw, lib time.Duration) {
	t.Helper()
	rate := func(d time.Duration) float64 { return float64(size) / mib / d.Seconds() }
	bound(t, raw.Seconds()/lib.Seconds() >= share, "%s: raw %.0f MiB/s, library %.0f MiB/s, %.0f %% (bound %.0f %%)",
		what, rate(raw), rate(lib), 100*raw.Seconds()/lib.Seconds(), 100*share)
}

// TestDownload compares the library with a raw copy of 256 MiB.
func TestDownload(t *testing.T) {
	const size = 256 * mib
	m := machine(t, "alpine")
	if err := m.Shell("head -c 268435456 /dev/zero >/workspace/big").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	lib := func() error {
		f, err := m.Open(t.Context(), "/workspace/big", nil)
		if err != nil {
			return err
		}
		defer f.Close()
		n, err := io.Copy(io.Discard, f)
		if err == nil && n != size {
			err = fmt.Errorf("%d bytes of %d", n, size)
		}
		return err
	}
	times := alternate(t, 9, func() error { return rawGet(m, "/workspace/big", size) }, lib)
	atLeast(t, "download 256 MiB", 0.9, size, times[0], times[1])
	grown := heapGrowth(func() {
		if err := lib(); err != nil {
			t.Error(err)
		}
	})
	bound(t, grown <= 8*mib, "download 256 MiB: heap grew by %.1f MiB (bound 8)", float64(grown)/mib)
}

// TestUpload compares the library with a raw copy, in one piece and in several.
func TestUpload(t *testing.T) {
	m := machine(t, "alpine")
	for _, tt := range []struct {
		name  string
		size  int64
		share float64
	}{
		{"upload 100 MiB", 100 * mib, 0.9},
		{"upload 256 MiB in pieces", 256 * mib, 0.4},
	} {
		raw := func() error { // the wire takes 100 MiB at a time
			for left := tt.size; left > 0; left -= 100 * mib {
				if err := rawPut(m, "/workspace/raw", min(left, 100*mib)); err != nil {
					return err
				}
			}
			return nil
		}
		lib := func() error {
			return m.Put(t.Context(), "/workspace/lib", io.LimitReader(zeros{}, tt.size), &smol.WriteOptions{Size: tt.size})
		}
		times := alternate(t, 9, raw, lib)
		atLeast(t, tt.name, tt.share, tt.size, times[0], times[1])
		grown := heapGrowth(func() {
			if err := lib(); err != nil {
				t.Error(err)
			}
		})
		bound(t, grown <= 8*mib, "%s: heap grew by %.1f MiB (bound 8)", tt.name, float64(grown)/mib)
	}
}
