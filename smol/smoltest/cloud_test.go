package smoltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// ask sends a request to the stand-in of the cloud on a connection of its own.
func ask(t *testing.T, c *smoltest.Cloud, token, method, path, body string) (status int, reply string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// cloudMachine creates a machine and returns its id.
func cloudMachine(t *testing.T, c *smoltest.Cloud, fields string) string {
	t.Helper()
	status, reply := ask(t, c, c.Token(), "POST", "/v1/machines", `{"source":{"type":"image","reference":"alpine"}`+fields+`}`)
	var m struct{ ID string }
	if err := json.Unmarshal([]byte(reply), &m); status != 201 || err != nil {
		t.Fatalf("create: %d %s", status, reply)
	}
	return m.ID
}

func eachCloud(t *testing.T, f func(t *testing.T, c *smoltest.Cloud)) {
	for name, g := range map[string]smoltest.Guest{"sandbox": nil, "script": smoltest.Script(shell)} {
		t.Run(name, func(t *testing.T) { f(t, smoltest.NewCloud(t, &smoltest.CloudOptions{Guest: g})) })
	}
}

func TestCloudCommand(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *smoltest.Cloud) {
		id := cloudMachine(t, c, "")
		status, reply := ask(t, c, c.Token(), "POST", "/v1/machines/"+id+"/exec", `{"command":["sh","-c","echo out; echo err >&2; exit 3"]}`)
		if status != 200 || !strings.Contains(reply, `"exitCode":3,"stdout":"out\n","stderr":"err\n"`) {
			t.Errorf("%d %s", status, reply)
		}
		if n := c.Count("POST", "/v1/machines/*/exec"); n != 1 {
			t.Errorf("%d commands counted", n)
		}
		if n := c.Boots(id); n != 1 {
			t.Errorf("%d boots", n)
		}
	})
}

// A machine runs on while its server is away, if it is one that can, and is there afterwards in any case.
func TestCloudRestart(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *smoltest.Cloud) {
		id, url := cloudMachine(t, c, ""), c.URL()
		if status, reply := ask(t, c, c.Token(), "POST", "/v1/machines/"+id+"/start", ""); status != 200 {
			t.Fatalf("%d %s", status, reply)
		}
		for _, again := range []func(){c.Restart, func() { c.Kill(); c.Restart() }} {
			again()
			if status, reply := ask(t, c, c.Token(), "GET", "/v1/machines/"+id, ""); status != 200 || !strings.Contains(reply, `"state":"started"`) {
				t.Errorf("%d %s", status, reply)
			}
		}
		if c.URL() != url || c.Boots(id) != 1 {
			t.Errorf("URL %s, was %s; %d boots", c.URL(), url, c.Boots(id))
		}
	})
}

// The client of the library finds its way in.
func TestCloudService(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *smoltest.Cloud) {
		m, err := c.Service(t).Create(t.Context(), smol.Spec{Image: "alpine"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := m.Shell("echo out; echo err >&2; exit 3").Output(t.Context())
		var exit *smol.ExitError
		if string(out) != "out\n" || !errors.As(err, &exit) || exit.Code != 3 {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestCloudKeys(t *testing.T) {
	c := smoltest.NewCloud(t, &smoltest.CloudOptions{Guest: smoltest.Script(nil), Keys: []smoltest.CloudKey{
		{Token: "reader", Scopes: []string{"machine:read"}},
		{Token: "other", Account: "other"},
	}})
	id := cloudMachine(t, c, "")
	for _, tt := range []struct {
		token, method, path string
		status              int
	}{
		{"", "GET", "/v1/machines/" + id, 401},
		{"nobody", "GET", "/v1/machines/" + id, 401},
		{"reader", "GET", "/v1/machines/" + id, 200},
		{"reader", "DELETE", "/v1/machines/" + id, 403},
		{"other", "GET", "/v1/machines/" + id, 404},
		{c.Token(), "DELETE", "/v1/machines/" + id, 204},
	} {
		if status, reply := ask(t, c, tt.token, tt.method, tt.path, ""); status != tt.status {
			t.Errorf("%s %s: %d %s, want %d", tt.method, tt.token, status, reply, tt.status)
		}
	}
	twice := &smoltest.CloudOptions{Guest: smoltest.Script(nil), Token: "one", Keys: []smoltest.CloudKey{{Token: "one"}}}
	if _, err := smoltest.StartCloud(twice); err == nil {
		t.Error("two keys with one token are accepted")
	}
}

// The stand-in's time passes when it is told to, and what falls due is done by then.
func TestCloudClock(t *testing.T) {
	clock := smoltest.NewClock(time.Time{})
	c := smoltest.NewCloud(t, &smoltest.CloudOptions{Guest: smoltest.Script(nil), Clock: clock})
	id := cloudMachine(t, c, `,"ttlSeconds":60`)
	clock.Advance(59 * time.Second)
	if status, reply := ask(t, c, c.Token(), "GET", "/v1/machines/"+id, ""); status != 200 {
		t.Fatalf("%d %s", status, reply)
	}
	clock.Advance(16 * time.Second)
	if status, reply := ask(t, c, c.Token(), "GET", "/v1/machines/"+id, ""); status != 404 {
		t.Errorf("%d %s", status, reply)
	}
	if want := time.Date(2026, 10, 4, 12, 1, 15, 0, time.UTC); !clock.Now().Equal(want) {
		t.Errorf("the clock shows %v, want %v", clock.Now(), want)
	}
}

func TestCloudKnobs(t *testing.T) {
	c := smoltest.NewCloud(t, &smoltest.CloudOptions{
		Guest: smoltest.Script(nil), Errors: smoltest.ErrorsCodeError, Old: smoltest.OldestCloud(), Plan: &smoltest.CloudPlan{Name: "Tiny", MaxMachines: 1},
		Faults: []smoltest.Fault{{Path: "/health", Action: smoltest.Fail, Status: 429, Header: http.Header{"Retry-After": {"2"}}}},
	})
	cloudMachine(t, c, "")
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/v1/machines", `{"source":{"type":"image","reference":"alpine"}}`, 422, `"error":"machine count quota exceeded: the Tiny plan`},
		{"GET", "/v1/machines", "", 200, `{"machines":[`},
		{"GET", "/health", "", 429, ""},
	} {
		status, reply := ask(t, c, c.Token(), tt.method, tt.path, tt.body)
		if status != tt.status || !strings.Contains(reply, tt.want) {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, status, reply)
		}
	}
	if _, err := smoltest.StartCloud(&smoltest.CloudOptions{Guest: smoltest.Script(nil), Errors: "no such style"}); err == nil {
		t.Error("an error style that there is not is accepted")
	}
}

func TestCloudListening(t *testing.T) {
	c := smoltest.NewCloud(t, &smoltest.CloudOptions{Guest: smoltest.Script(nil)})
	id := cloudMachine(t, c, `,"name":"web","ports":[{"port":80}]`)
	if status, reply := ask(t, c, c.Token(), "POST", "/v1/machines/"+id+"/start", ""); status != 200 || !strings.Contains(reply, `"ready":false`) {
		t.Fatalf("%d %s", status, reply)
	}
	c.SetListening("web", 80, true)
	if _, reply := ask(t, c, c.Token(), "GET", "/v1/machines/"+id, ""); !strings.Contains(reply, `"ready":true`) || !strings.Contains(reply, `"url":"https://web-`) {
		t.Errorf("%s", reply)
	}
}

func ExampleStartCloud() {
	c, err := smoltest.StartCloud(&smoltest.CloudOptions{Guest: smoltest.Script(greeter)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, c.URL()+"/v1/machines", http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+c.Token())
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	fmt.Println(res.Status)
	// Output: 200 OK
}
