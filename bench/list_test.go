//go:build bench

package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
	"github.com/smol-machines/smol-go/smol/local"
)

const listed = 10_000

// canned serves one answer, whose making then costs nothing.
func canned(t *testing.T, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// listAll lists with the library.
func listAll(t *testing.T, f *smol.Fleet) func() error {
	return func() error {
		n := 0
		for _, err := range f.List(t.Context(), nil) {
			if err != nil {
				return err
			}
			n++
		}
		if n != listed {
			return fmt.Errorf("%d machines of %d", n, listed)
		}
		return nil
	}
}

// get returns the body of an answer of the local service, or of the cloud if there is a key.
func get(t *testing.T, c *http.Client, url, key string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", resp.Status, err)
	}
	return strings.TrimSpace(string(b))
}

// TestListCloud and TestListLocal compare a list of 10,000 machines with the decoding of its JSON.
func TestListCloud(t *testing.T) {
	url, svc := cloudService(t)
	m, err := svc.Create(t.Context(), smol.Spec{Name: "bench-00000", Image: "alpine", Network: smol.Network{Open: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	body := many(get(t, new(http.Client), url+"/v1/machines/"+m.ID(), cloudKey), listed, m.ID(), m.Name())
	if err := m.Discard(); err != nil {
		t.Fatal(err)
	}
	client, err := cloud.New(&cloud.Options{URL: canned(t, body), Token: cloudKey})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	decode := func() error {
		var list []cloudwire.MachineInfo
		return json.Unmarshal([]byte(body), &list)
	}
	holdList(t, "cloud", decode, listAll(t, client.Fleet))
}

func TestListLocal(t *testing.T) {
	m, err := service.svc.Create(t.Context(), smol.Spec{Name: "bench-00000", Image: "alpine", Network: smol.Network{Open: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"machines":` + many(get(t, service.raw, "http://localhost/api/v1/machines/"+m.Name(), ""), listed, m.Name()) + `}`
	if err := m.Discard(); err != nil {
		t.Fatal(err)
	}
	client, err := local.New(&local.Options{URL: canned(t, body)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	decode := func() error {
		var list struct{ Machines []localwire.MachineInfo }
		return json.Unmarshal([]byte(body), &list)
	}
	holdList(t, "local", decode, listAll(t, client.Fleet))
}

func holdList(t *testing.T, fleet string, decode, list func() error) {
	t.Helper()
	times := alternate(t, 9, decode, list)
	ratio := times[1].Seconds() / times[0].Seconds()
	bound(t, ratio <= 2, "%s: 10,000 machines listed: decode alone %v, library %v, %.2f times (bound 2)", fleet, times[0], times[1], ratio)
}
