//go:build bench

package bench

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// TestRequest measures what the library adds to a plain request.
func TestRequest(t *testing.T) {
	m := machine(t, "alpine")
	url := "http://localhost/api/v1/machines/" + m.Name()
	raw := func() error {
		resp, err := service.raw.Get(url)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var v map[string]any
		return json.NewDecoder(resp.Body).Decode(&v)
	}
	lib := func() error { _, err := m.Info(t.Context()); return err }

	times := alternate(t, 500, raw, lib)
	over := times[1] - times[0]
	bound(t, over <= 100*time.Microsecond, "request: raw %v, library %v, over it %v (bound 100µs)", times[0], times[1], over)

	count := func(fn func() error) float64 {
		return testing.AllocsPerRun(200, func() {
			if err := fn(); err != nil {
				t.Fatal(err)
			}
		})
	}
	rawBytes := func() error {
		resp, err := service.raw.Get(url)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	base, ours := count(rawBytes), count(lib)
	bound(t, ours-base <= 60, "request: raw %.0f allocations, library %.0f, over it %.0f (bound 60)", base, ours, ours-base)
}

// TestCommand measures what the runner adds to a plain exec of the same shell.
func TestCommand(t *testing.T) {
	bounds := map[string]time.Duration{"busybox": 15 * time.Millisecond, "dash": 15 * time.Millisecond, "bash": 25 * time.Millisecond}
	for _, image := range []string{"busybox", "dash", "bash"} {
		t.Run(image, func(t *testing.T) {
			m := machine(t, image)
			plain := func() error { return rawExec(m.Name(), "sh", "-c", "true") }
			run := func() error { return m.Shell("true").Run(t.Context()) }
			times := alternate(t, 150, plain, run)
			over := times[1] - times[0]
			bound(t, over <= bounds[image], "command in %s: plain exec %v, Cmd %v, over it %v (bound %v)", image, times[0], times[1], over, bounds[image])
		})
	}
}

// rawExec runs a command with net/http alone.
func rawExec(name string, argv ...string) error {
	body, err := json.Marshal(map[string]any{"command": argv})
	if err != nil {
		return err
	}
	resp, err := service.raw.Post("http://localhost/api/v1/machines/"+name+"/exec", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var v struct {
		ExitCode  int
		StdoutB64 string
	}
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || v.ExitCode != 0 {
		return fmt.Errorf("status %d, exit code %d", resp.StatusCode, v.ExitCode)
	}
	_, err = base64.StdEncoding.DecodeString(v.StdoutB64)
	return err
}
