package cloud_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/simtest"
)

func TestEvents(t *testing.T) {
	r := newRig(t, nil)
	id := r.up(`,"branchable":true`)
	r.must(200, "POST", one(id, "/pause"), "")
	r.must(200, "POST", one(id, "/resume"), "")
	r.must(201, "POST", one(id, "/branches"), `{"name":"b"}`)
	r.must(200, "POST", one(id, "/stop"), "")
	r.restart()
	want := []string{
		"info machine created", "info machine started", "info machine paused", "info machine resumed", "info 1 branches made", "info machine stopped",
	}
	if diff := cmp.Diff(want, r.events(id)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLogs(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.PlainLogs = true })
	id := r.create(`,"name":"m"`)
	if a := r.must(200, "GET", one(id, "/logs"), ""); a.body != "" {
		t.Errorf("of a machine that was never started: %q", a.body)
	}
	r.must(200, "POST", one(id, "/start"), "")
	boot := r.must(200, "GET", one(id, "/logs"), "").body
	if err := r.s.AppendConsole("m", "one\r\n\xfftwo\nthree"); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"": boot + "one\n\ufffdtwo\nthree\n", "?tail=0": "", "?tail=1": "three\n", "?tail=2": "\ufffdtwo\nthree\n", "?tail=1000": boot + "one\n\ufffdtwo\nthree\n",
		"?follow=false&tail=1": "three\n",
	} {
		if a := r.must(200, "GET", one(id, "/logs")+query, ""); a.body != want {
			t.Errorf("%s: %q, want %q", query, a.body, want)
		}
	}
	r.must(200, "POST", one(id, "/stop"), "")
	if a := r.must(200, "GET", one(id, "/logs?tail=1&follow=true"), ""); a.body != "three\n" {
		t.Errorf("of a stopped machine: %q", a.body)
	}
	for _, query := range []string{"?tail=-1", "?tail=x", "?follow=1", "?tail=1&tail=2"} {
		r.must(400, "GET", one(id, "/logs")+query, "")
	}
	if err := r.s.AppendConsole("none", "x"); err == nil {
		t.Error("the console of nothing")
	}
}

// Who follows gets lines as they come, until the machine does not run any more.
func TestLogsFollow(t *testing.T) {
	r := newRig(t, nil)
	id := r.up("")
	res, err := r.send(t.Context(), "GET", one(id, "/logs?follow=true&tail=0"), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	next := func() string {
		for lines.Scan() {
			if text := lines.Text(); text != "" {
				return text
			}
		}
		if err := lines.Err(); err != nil {
			return err.Error()
		}
		return "the end"
	}
	for i := range 3 {
		if err := r.s.AppendConsole(id, fmt.Sprintf("line %d\n", i)); err != nil {
			t.Fatal(err)
		}
		if got := next(); got != fmt.Sprintf("data: line %d", i) {
			t.Errorf("%q", got)
		}
	}
	if err := r.s.AppendConsole(id, "last"); err != nil {
		t.Fatal(err)
	}
	r.must(200, "POST", one(id, "/stop"), "")
	if got := next(); got != "data: last" {
		t.Errorf("%q", got)
	}
	if got := next(); got != "the end" {
		t.Errorf("%q", got)
	}
	for range 3 { // who goes holds nothing up
		res, err := r.send(t.Context(), "GET", one(r.up(""), "/logs?follow=true"), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
}

// What the machine is for says what it has to say on the console.
func TestWorkload(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })
	id := r.up(`,"command":["sh","-c","echo said $A in $PWD"],"env":{"A":"1"},"workdir":"/root"`)
	r.until("it speaks", func() bool {
		return strings.Contains(r.do("GET", one(id, "/logs?tail=1"), "").body, "data: said 1 in /root\n")
	})
	bad := r.up(`,"command":["no-such-program"]`)
	if e := strings.Join(r.events(bad), "\n"); !strings.Contains(e, "warn workload not launched") {
		t.Errorf("%s", e)
	}
}

func TestInfo(t *testing.T) {
	r := newRig(t, nil)
	r.up("")
	for path, want := range map[string]string{
		"/health":             `"apiVersion":2`,
		"/v1/pricing":         `"currency":"usd"`,
		"/v1/status/machines": `"machinesStarted":1`,
		"/v1/account/plans":   `"current":{"id":"plan-developer"`,
		"/v1/me":              `"registryNamespace":"tenants/tenant-1"`,
	} {
		if a := r.must(200, "GET", path, ""); !strings.Contains(a.body, want) {
			t.Errorf("%s: %s", path, a)
		}
		if a := r.must(200, "HEAD", path, ""); a.body != "" {
			t.Errorf("HEAD %s: %s", path, a)
		}
	}
	old := newRig(t, func(o *cloud.Options) { o.Old = cloud.Oldest() })
	if a := old.must(200, "GET", "/health", ""); !strings.Contains(a.body, `"capabilities":[]`) {
		t.Errorf("%s", a)
	}
	id := old.up(`,"labels":{"a":"b"},"forkable":true`)
	a := old.must(200, "GET", one(id, ""), "")
	for _, name := range []string{"ready", "readyAt", "branchable", "branchState", "rootBranchId"} {
		if strings.Contains(a.body, `"`+name+`"`) {
			t.Errorf("an old server tells %s: %s", name, a)
		}
	}
	if !strings.Contains(a.body, `"state":"running"`) || !strings.Contains(a.body, `"forkable":true`) || !strings.Contains(a.body, `"maxForkBatch":64`) {
		t.Errorf("%s", a)
	}
}
