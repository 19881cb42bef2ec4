package local_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

// data joins the data lines of a body of unnamed events.
func data(body string) string {
	var lines []string
	for l := range strings.SplitSeq(body, "\n") {
		if d, ok := strings.CutPrefix(l, "data: "); ok {
			lines = append(lines, d)
		}
	}
	return strings.Join(lines, "|")
}

func TestLogs(t *testing.T) {
	r := newRig(t, local.Options{})
	r.want(404, "machine 'm' not found", "GET", api+"/m/logs", "")
	r.want(200, "", "POST", api, `{"name":"m"}`)
	r.want(404, "machine 'm' has no logs yet — it may not have been started", "GET", api+"/m/logs?tail=99999", "")
	r.want(200, "", "POST", api+"/m/start", "")
	if a := r.do("GET", api+"/m/logs", ""); a.body != "data: boot of m\n\n\ndata: agent ready\n\n" {
		t.Errorf("got %q", a.body)
	}
	if err := r.s.AppendConsole("m", "{\"a\":1}\nx\r\ny {}\npart"); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"":                      "boot of m|agent ready|{\"a\":1}|x|y {}|part",
		"?tail=0":               "",
		"?tail=2":               "y {}|part",
		"?tail=100":             "boot of m|agent ready|{\"a\":1}|x|y {}|part",
		"?format=json":          "{\"a\":1}|part", // the last line is not looked at
		"?format=xml":           "boot of m|agent ready|{\"a\":1}|x|y {}|part",
		"?format=json&tail=100": "{\"a\":1}",
	} {
		if a := r.want(200, "", "GET", api+"/m/logs"+query, ""); data(a.body) != want {
			t.Errorf("%q: got %s, want %s", query, data(a.body), want)
		}
	}
	r.want(400, "tail value 10001 exceeds maximum of 10000", "GET", api+"/m/logs?tail=10001", "")
	r.want(400, "Failed to deserialize query string: follow: provided string was not `true` or `false`", "GET", api+"/m/logs?follow=1", "")
	if err := r.s.AppendConsole("m", "\xff\n"); err != nil {
		t.Fatal(err)
	}
	r.want(500, "io operation failed: stream did not contain valid UTF-8", "GET", api+"/m/logs?tail=1", "")
	if a := r.want(200, "", "GET", api+"/m/logs", ""); !strings.HasSuffix(data(a.body), "|part\ufffd") {
		t.Errorf("got %q", a.body)
	}
	r.want(200, "", "POST", api+"/m/stop", "")
	r.want(200, "", "POST", api+"/m/start", "")
	if a := r.do("GET", api+"/m/logs", ""); data(a.body) != "boot of m|agent ready" {
		t.Errorf("after a boot: %q", a.body)
	}
}

// Without tail no more than the first 64 KiB come, cut wherever that is.
func TestLogsFirstPart(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	if err := r.s.AppendConsole("m", strings.Repeat("0123456789\n", 10000)); err != nil {
		t.Fatal(err)
	}
	a := r.do("GET", api+"/m/logs", "")
	if n := len(data(a.body)) + len("\n"); n != 64<<10 { // the blank line is lost, the end has no line end
		t.Errorf("%d bytes", n)
	}
	if a = r.do("GET", api+"/m/logs?tail=10000", ""); strings.Count(a.body, "0123456789") != 10000 {
		t.Errorf("tail: %d lines", strings.Count(a.body, "0123456789"))
	}
}

func TestLogsFollow(t *testing.T) {
	r := newRig(t, local.Options{LogPoll: 1e6})
	r.machine("m", "")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	resp := r.openStream(ctx, "GET", api+"/m/logs?follow=true&tail=1", "")
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	next := func(want string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() != "" {
				if lines.Text() != want {
					t.Errorf("got %q, want %q", lines.Text(), want)
				}
				return
			}
		}
		t.Errorf("ended before %q: %v", want, lines.Err())
	}
	next("data: agent ready")
	for i := range 3 {
		if err := r.s.AppendConsole("m", fmt.Sprintf("part %d", i)); err != nil {
			t.Fatal(err)
		}
		if err := r.s.AppendConsole("m", " and rest\n"); err != nil {
			t.Fatal(err)
		}
		next(fmt.Sprintf("data: part %d and rest", i))
	}
	// Whoever truncates the file makes the follower wait until it has grown past where it was.
	console, err := filepath.Glob(filepath.Join(r.opts.DataDir, "vms", "*", "console.log"))
	if err != nil || len(console) != 1 {
		t.Fatal(console, err)
	}
	fi, err := os.Stat(console[0])
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", int(fi.Size())) + "after\n"
	if err := os.WriteFile(console[0], []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	next("data: after")
}

func TestLogFollowers(t *testing.T) {
	r := newRig(t, local.Options{LogPoll: 1e6})
	r.machine("m", "")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var open []*http.Response
	for range 16 {
		open = append(open, r.openStream(ctx, "GET", api+"/m/logs?follow=true", ""))
	}
	r.want(409, "too many concurrent log followers", "GET", api+"/m/logs?follow=true", "")
	r.want(200, "", "GET", api+"/m/logs", "")
	for _, resp := range open {
		resp.Body.Close()
	}
	eventually(t, "a follower is let in again", func() bool {
		resp := r.openStream(ctx, "GET", api+"/m/logs?follow=true", "")
		defer resp.Body.Close()
		return resp.StatusCode == 200
	})
}

// The supervisor rotates a console that has grown too large, and keeps three.
func TestLogRotation(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	console, err := filepath.Glob(filepath.Join(r.opts.DataDir, "vms", "*", "console.log"))
	if err != nil || len(console) != 1 {
		t.Fatal(console, err)
	}
	for i := range 5 {
		if err := errors.Join(r.s.AppendConsole("m", fmt.Sprintf("%d\n", i)), os.Truncate(console[0], 10<<20+1)); err != nil {
			t.Fatal(err)
		}
		r.s.Tick()
	}
	if err := r.s.AppendConsole("m", "last\n"); err != nil {
		t.Fatal(err)
	}
	if a := r.want(200, "", "GET", api+"/m/logs", ""); data(a.body) != "last" {
		t.Errorf("got %.100s", a.body)
	}
	files, err := filepath.Glob(filepath.Join(r.opts.DataDir, "vms", "*", "console.log*"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for i, want := range map[int]string{1: "4\n", 2: "3\n", 3: "2\n"} {
		b, err := os.ReadFile(files[i])
		if err != nil || string(b[:2]) != want {
			t.Errorf("%s begins with %q, %v", files[i], b[:2], err)
		}
	}
}
