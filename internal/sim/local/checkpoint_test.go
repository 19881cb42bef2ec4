package local_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

func TestCheckpoint(t *testing.T) {
	r := newRig(t, local.Options{})
	r.want(200, "", "POST", api, `{"name":"m","cpus":3,"memoryMb":512}`)
	r.want(409, "machine 'm' is not running", "POST", api+"/m/checkpoint", "")
	r.want(200, "", "POST", api+"/m/start", "")
	r.want(200, "", "PUT", api+"/m/files/disk", "precious")
	a := r.want(200, "", "POST", api+"/m/checkpoint", "")
	if a.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("content type %q", a.header.Get("Content-Type"))
	}
	if got := r.state("m"); got != "running" {
		t.Errorf("then it is %s", got)
	}
	if left, _ := filepath.Glob(filepath.Join(r.opts.DataDir, "vms", "*", "checkpoint*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	file := filepath.Join(t.TempDir(), "m.smolcheckpoint")
	if err := os.WriteFile(file, []byte(a.body), 0o600); err != nil {
		t.Fatal(err)
	}
	a = r.want(200, "", "POST", api, fmt.Sprintf(`{"name":"r","from":%q,"cpus":1}`, file))
	if !strings.Contains(a.body, `"cpus":3,"memoryMb":512`) {
		t.Errorf("restored as %s", a.body)
	}
	r.want(200, "", "POST", api+"/r/start", "")
	if got := r.do("GET", api+"/r/files/disk", "").body; got != "precious" {
		t.Errorf("the disk has %q", got)
	}
}

// A hostile checkpoint writes nothing outside the machine's directory, and the machine is not made.
func TestRestoreHostile(t *testing.T) {
	r := newRig(t, local.Options{})
	archive := func(headers ...tar.Header) []byte {
		var b bytes.Buffer
		b.WriteString("smolcheckpoint/stand-in {\"cpus\":1,\"memoryMb\":64,\"storageGb\":1,\"overlayGb\":1}\n")
		w := tar.NewWriter(&b)
		for _, h := range headers {
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	const extract, read = "extract .smolmachine: ", "read .smolmachine: "
	for name, tt := range map[string]struct {
		body []byte
		text string
	}{
		"empty":            {nil, read},
		"text":             {[]byte("hello, this is not a checkpoint of any kind"), read},
		"no record":        {[]byte("smolcheckpoint/stand-in {\n"), read},
		"no tar":           {append(archive()[:80], bytes.Repeat([]byte("x"), 1024)...), ""},
		"up":               {archive(tar.Header{Name: "../../../pwned", Typeflag: tar.TypeReg, Mode: 0o644}), extract},
		"absolute":         {archive(tar.Header{Name: filepath.Join(r.opts.DataDir, "pwned"), Typeflag: tar.TypeReg, Mode: 0o644}), extract},
		"through a link":   {archive(tar.Header{Name: "l", Linkname: r.opts.DataDir, Typeflag: tar.TypeSymlink}, tar.Header{Name: "l/pwned", Typeflag: tar.TypeReg}), extract},
		"a link out":       {archive(tar.Header{Name: "l", Linkname: "../../../../../etc/passwd", Typeflag: tar.TypeLink}), extract},
		"twice":            {archive(tar.Header{Name: "a", Typeflag: tar.TypeReg}, tar.Header{Name: "a", Typeflag: tar.TypeReg}), extract},
		"link through dir": {archive(tar.Header{Name: "d", Typeflag: tar.TypeDir, Mode: 0o700}, tar.Header{Name: "d/../../x", Typeflag: tar.TypeReg}), extract},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "c")
			if err := os.WriteFile(file, tt.body, 0o600); err != nil {
				t.Fatal(err)
			}
			a := r.do("POST", api, fmt.Sprintf(`{"name":"m","from":%q}`, file))
			if a.status != 500 || !strings.Contains(a.body, tt.text) {
				t.Errorf("answered %d %s", a.status, a.body)
			}
			r.want(404, "", "GET", api+"/m", "")
			found, _ := filepath.Glob(filepath.Join(r.opts.DataDir, "*"))
			for _, f := range found {
				if b := filepath.Base(f); b != "records" && b != "vms" {
					t.Errorf("wrote %s", f)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(r.opts.DataDir, "*", "*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	r.want(400, "sidecar file not found: /none", "POST", api, `{"name":"m","from":"/none"}`)
}
