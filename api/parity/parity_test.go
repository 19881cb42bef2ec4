package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/api"
)

var update = flag.Bool("update", false, "write testdata/golden.txt anew")

func TestGolden(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"testdata/ours.json", "testdata/theirs.json"}, &out); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/golden.txt", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A document is in parity with itself, and one that lacks a route differs by that route alone.
func TestOwnDocuments(t *testing.T) {
	for name, src := range map[string][]byte{"local": api.LocalJSON, "cloud": api.CloudJSON} {
		file := filepath.Join(t.TempDir(), "published.json")
		for what, want := range map[string]string{
			`"/health"`:       "0 only in ours, 0 only in theirs, 0 of another type\n",
			`"/health-check"`: "ours    GET /health: route\ntheirs  GET /health-check: route\n1 only in ours, 1 only in theirs, 0 of another type\n",
		} {
			if err := os.WriteFile(file, bytes.Replace(src, []byte(`"/health"`), []byte(what), 1), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := run([]string{name, file}, &out); err != nil || out.String() != want {
				t.Errorf("%s with %s: %v\n%s", name, what, err, out.String())
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.json")
	for name, src := range map[string]string{
		"empty": "", "YAML": "openapi: 3.1.0\n", "no paths": "{}", "not an object": "[]", "a path that is none": `{"paths":{"/x":{"get":7}}}`,
		"parameters that are none": `{"paths":{"/x":{"parameters":7}}}`, "a type that is none": `{"paths":{"/x":{"get":{"parameters":[{"schema":{"type":7}}]}}}}`,
	} {
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := run([]string{"local", file}, &out); err == nil || !strings.Contains(err.Error(), "x.json") || out.Len() > 0 {
			t.Errorf("%s: %v, %q", name, err, out.String())
		}
	}
	for _, args := range [][]string{{}, {"local"}, {"local", file + "x"}, {file + "x", file}} {
		if err := run(args, new(bytes.Buffer)); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
