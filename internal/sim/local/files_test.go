package local_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

func TestFilePaths(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	for _, p := range []string{"tmp/a.txt", "%2Ftmp%2Fa.txt", "/tmp/a.txt", "///tmp/a.txt", "tmp%2fa%2Etxt"} {
		if a := r.want(200, "", "PUT", api+"/m/files/"+p, p); a.body != `{"path":"/tmp/a.txt","size":`+itoa(len(p))+`}` {
			t.Errorf("%s: %s", p, a.body)
		}
		a := r.want(200, "", "GET", api+"/m/files/tmp/a.txt", "")
		if a.body != p || a.header.Get("Content-Type") != "application/octet-stream" || a.header.Get("Content-Length") != itoa(len(p)) {
			t.Errorf("%s: got %q %v", p, a.body, a.header)
		}
	}
	a := r.want(404, "", "PUT", api+"/m/files/", "x")
	if a.body != "" {
		t.Errorf("no path: %q", a.body)
	}
	const up = "agent operation failed: write file: invalid guest path /a/../b: parent traversal is not allowed"
	r.want(500, up, "PUT", api+"/m/files/a/%2e%2e/b", "x")
	r.want(500, "", "PUT", api+"/m/files/a%00b", "x")
	r.want(500, "agent operation failed: read file: failed to open /none: No such file or directory (os error 2)", "GET", api+"/m/files/none", "")
	r.want(500, "agent operation failed: read file: not a regular file: /dir", "GET", api+"/m/files/dir", "")
}

func itoa(n int) string {
	s := ""
	for ; n > 0; n /= 10 {
		s = string(rune('0'+n%10)) + s
	}
	return s
}

func TestFileSizes(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	for _, size := range []int{0, 1 << 20, 1<<20 + 1, 5 << 20} {
		text := strings.Repeat("x", size)
		r.want(200, "", "PUT", api+"/m/files/f", text)
		a := r.want(200, "", "GET", api+"/m/files/f", "")
		if a.body != text {
			t.Errorf("of %d bytes %d came back", size, len(a.body))
		}
		resp, err := r.client.Head("http://localhost" + api + "/m/files/f")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 || resp.ContentLength != int64(size) {
			t.Errorf("HEAD of %d bytes: %d, %d", size, resp.StatusCode, resp.ContentLength)
		}
	}
	if n := r.s.Reboots("m"); n != 0 {
		t.Errorf("%d reboots", n)
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestUploadTooLarge(t *testing.T) {
	r := newRig(t, local.Options{})
	r.want(200, "", "POST", api, `{"name":"m"}`)
	for _, chunked := range []bool{false, true} {
		req, err := http.NewRequest("PUT", "http://localhost"+api+"/m/files/f", io.LimitReader(zeroes{}, 100<<20+1))
		if err != nil {
			t.Fatal(err)
		}
		if !chunked {
			req.ContentLength = 100<<20 + 1
		}
		resp, err := r.client.Do(req)
		if err != nil {
			continue // the server closed before all was written, which is its right
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 413 || string(b) != "Failed to buffer the request body: length limit exceeded" {
			t.Errorf("chunked %v: %d %s", chunked, resp.StatusCode, b)
		}
	}
	if n := r.guest.bootCount(); n != 0 {
		t.Error("the machine was booted for a refused upload")
	}
}

func TestUploadTraps(t *testing.T) {
	large := strings.Repeat("x", 1<<20+1)
	for _, tt := range []struct {
		name    string
		opts    local.Options
		image   string
		path    string
		body    string
		execs   bool
		arrives bool
	}{
		{"large, bare", local.Options{}, "", "/f", large, false, true},
		{"large, image", local.Options{}, "alpine", "/f", large, true, false},
		{"large, image, workspace", local.Options{}, "alpine", "/workspace/f", large, true, true},
		{"large, image, without the trap", local.Options{KeepLargeUploads: true}, "alpine", "/f", large, true, true},
		{"one mebibyte, image", local.Options{}, "alpine", "/f", large[1:], true, true},
		{"race off", local.Options{}, "alpine", "/tmp/f", "x", false, true},
		{"race", local.Options{UploadRace: true}, "alpine", "/tmp/f", "x", false, false},
		{"race after an exec", local.Options{UploadRace: true}, "alpine", "/tmp/f", "x", true, true},
		{"race, a path on disk", local.Options{UploadRace: true}, "alpine", "/root/f", "x", false, true},
		{"race, bare", local.Options{UploadRace: true}, "", "/tmp/f", "x", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.opts)
			r.machine("m", tt.image)
			if tt.execs {
				r.exec("m", `{"command":["true"]}`)
			}
			a := r.want(200, "", "PUT", api+"/m/files"+tt.path, tt.body)
			if a.body != `{"path":"`+tt.path+`","size":`+itoa(len(tt.body))+`}` {
				t.Errorf("answered %s", a.body)
			}
			if got := r.do("GET", api+"/m/files"+tt.path, ""); (got.status == 200) != tt.arrives {
				t.Errorf("then it reads as %d", got.status)
			}
		})
	}
}

func TestImages(t *testing.T) {
	r := newRig(t, local.Options{})
	r.want(200, "", "POST", api, `{"name":"m"}`)
	if a := r.want(200, "", "GET", api+"/m/images", ""); a.body != `{"images":[]}` || r.guest.bootCount() != 0 {
		t.Errorf("%s after %d boots", a.body, r.guest.bootCount())
	}
	a := r.want(200, "", "POST", api+"/m/images/pull", `{"image":"ghcr.io/a/b:1","unknown":1}`)
	if !strings.HasPrefix(a.body, `{"image":{"reference":"ghcr.io/a/b:1","digest":"sha256:`) {
		t.Error(a.body)
	}
	r.want(400, "image reference cannot be empty", "POST", api+"/m/images/pull", `{"image":""}`)
	r.want(500, "agent operation failed: pull image: image not found: docker.io/library/missing:latest", "POST", api+"/m/images/pull", `{"image":"missing"}`)
	if a := r.want(200, "", "GET", api+"/m/images", ""); strings.Count(a.body, "reference") != 1 {
		t.Error(a.body)
	}
}
