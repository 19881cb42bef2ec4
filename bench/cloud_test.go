//go:build bench

package bench

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

const cloudKey = "smk_bench"

// cloudService starts the stand-in of the cloud in a process of its own and returns its address and a client.
func cloudService(t *testing.T) (string, *cloud.Service) {
	t.Helper()
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte(cloudKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := "127.0.0.1:" + freePort()
	cmd := exec.Command(service.bin, "cloud", "--listen", addr, "--token-file", key, "--data-dir", filepath.Join(dir, "data"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Signal(syscall.SIGTERM), cmd.Wait() })
	awaitHealth(&http.Client{}, "http://"+addr)
	svc, err := cloud.New(&cloud.Options{URL: "http://" + addr, Token: cloudKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { svc.Close() })
	return "http://" + addr, svc
}

// rawCloud sends a request with net/http alone, and drops the answer after its n bytes were counted.
func rawCloud(method, url string, body io.Reader, size, want int64) error {
	req, err := http.NewRequest(method, url, body)
	if err != nil {
		return err
	}
	req.ContentLength = size
	req.Header.Set("Authorization", "Bearer "+cloudKey)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && (resp.StatusCode/100 != 2 || n != want) {
		err = fmt.Errorf("%s, %d bytes of %d", resp.Status, n, want)
	}
	return err
}

// TestCloudFile compares 256 MiB through the library with a raw copy, in and out.
func TestCloudFile(t *testing.T) {
	const size = 256 * mib
	url, svc := cloudService(t)
	m, err := svc.Create(t.Context(), smol.Spec{Image: "alpine"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Discard() })
	file := url + "/v1/machines/" + m.ID() + "/files/workspace/"
	for _, tt := range []struct {
		name     string
		raw, lib func() error
	}{
		{
			"in",
			func() error { return rawCloud(http.MethodPut, file+"raw", io.LimitReader(zeros{}, size), size, 0) },
			func() error {
				return m.Put(t.Context(), "/workspace/lib", io.LimitReader(zeros{}, size), &smol.WriteOptions{Size: size})
			},
		},
		{
			"out",
			func() error { return rawCloud(http.MethodGet, file+"raw", nil, 0, size) },
			func() error {
				f, err := m.Open(t.Context(), "/workspace/lib", nil)
				if err != nil {
					return err
				}
				defer f.Close()
				n, err := io.Copy(io.Discard, f)
				if err == nil && n != size {
					err = fmt.Errorf("%d bytes of %d", n, size)
				}
				return err
			},
		},
	} {
		times := alternate(t, 9, tt.raw, tt.lib)
		atLeast(t, "cloud file 256 MiB "+tt.name, 0.9, size, times[0], times[1])
		grown := heapGrowth(func() {
			if err := tt.lib(); err != nil {
				t.Error(err)
			}
		})
		bound(t, grown <= 8*mib, "cloud file 256 MiB %s: heap grew by %.1f MiB (bound 8)", tt.name, float64(grown)/mib)
	}
}

// many is a list of n machines, each what is said of a real one but for its name and id.
func many(one string, n int, names ...string) string {
	var b strings.Builder
	for i := range n {
		text := one
		for _, name := range names {
			text = strings.ReplaceAll(text, name, fmt.Sprintf("%s%05d", name[:len(name)-5], i))
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(text)
	}
	return "[" + b.String() + "]"
}
