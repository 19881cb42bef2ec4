package cloud_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/simtest"
)

// randomBytes returns n bytes, always the same.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// bothGuests runs a test on machines that are functions and on real ones.
func bothGuests(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Run("script", func(t *testing.T) { f(t, newRig(t, nil)) })
	t.Run("sandbox", func(t *testing.T) { f(t, newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })) })
}

// oddName is a name with what means something in a URL.
const oddName = "a b%c?#é+"

func TestFiles(t *testing.T) {
	bothGuests(t, func(t *testing.T, r *rig) {
		id := r.create("")
		for path, content := range map[string][]byte{
			"/workspace/a":                     []byte("a"),
			"/workspace/new/dir/b":             {},
			"/tmp/bytes":                       {0, 1, 2, 0xff, '\r', '\n'},
			"/root/big":                        randomBytes(5<<20 + 1),
			"/root/" + url.PathEscape(oddName): []byte("named"),
			"//root//double":                   []byte("double"),
		} {
			if a := r.do("PUT", one(id, "/files"+path), string(content), "Content-Type", "application/octet-stream"); a.status != 204 || a.body != "" {
				t.Errorf("%s: %s", path, a)
			}
			a := r.do("GET", one(id, "/files"+path), "")
			if a.status != 200 || sha256.Sum256([]byte(a.body)) != sha256.Sum256(content) || a.header.Get("Content-Type") != "application/octet-stream" {
				t.Errorf("%s: %d, %d bytes, want %d", path, a.status, len(a.body), len(content))
			}
			if a := r.do("HEAD", one(id, "/files"+path), ""); a.status != 200 || a.body != "" {
				t.Errorf("HEAD %s: %s", path, a)
			}
		}
		for path, want := range map[string]string{
			"/files/none":               `"detail":"file not found: none"`,
			"/files/workspace/rt.txt":   `"detail":"file not found: workspace/rt.txt"`,
			"/files/workspace%2Frt.txt": `"detail":"file not found: workspace/rt.txt"`,
			"/files":                    "",
			"/files/":                   "",
			"/files//":                  "",
			"/files?path=/root/big":     "",
		} {
			if a := r.do("GET", one(id, path), ""); a.status != 404 || !strings.Contains(a.body, want) || want == "" && a.body != "" {
				t.Errorf("%s: %s", path, a)
			}
		}
		for _, path := range []string{"/files/root/../etc", "/files/..", "/files/%2e%2e/a", "/files/a%2F..%2Fb", "/files/a%00b", "/files/root", "/files/a%ff"} {
			for _, method := range []string{"GET", "PUT"} {
				if a := r.do(method, one(id, path), "x"); a.status != 400 {
					t.Errorf("%s %s: %s", method, path, a)
				}
			}
		}
	})
}

func TestFilesStatus(t *testing.T) {
	for _, status := range []int{404, 405, 501} {
		r := newRig(t, func(o *cloud.Options) { o.FilesStatus = status })
		id := r.create("")
		for _, method := range []string{"GET", "PUT"} {
			if a := r.do(method, one(id, "/files/a"), "x"); a.status != status || a.body != "" {
				t.Errorf("%s: %s", method, a)
			}
		}
		if n := r.s.Boots(id); n != 0 {
			t.Errorf("%d boots", n)
		}
	}
}

// An upload that is cut short, or whose client goes, leaves the file as it was.
func TestUploadCutShort(t *testing.T) {
	bothGuests(t, func(t *testing.T, r *rig) {
		id := r.up("")
		r.must(204, "PUT", one(id, "/files/root/f"), "before")
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(conn, "PUT "+one(id, "/files/root/f")+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+testToken+"\r\nContent-Length: 100\r\n\r\nhalf")
		if err := errors.Join(err, conn.(*net.TCPConn).CloseWrite()); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
		body, feed := io.Pipe()
		gone := make(chan error)
		go func() {
			res, err := r.send(t.Context(), http.MethodPut, one(id, "/files/root/f"), body)
			if err == nil {
				res.Body.Close()
			}
			gone <- err
		}()
		if _, err := feed.Write(bytes.Repeat([]byte("x"), 100000)); err != nil {
			t.Fatal(err)
		}
		feed.CloseWithError(errors.New("given up"))
		if err := <-gone; err == nil {
			t.Error("an upload that was given up succeeds")
		}
		if a := r.must(200, "GET", one(id, "/files/root/f"), ""); a.body != "before" {
			t.Errorf("%q", a.body)
		}
	})
}

// A download whose client goes holds nothing up.
func TestDownloadAbandoned(t *testing.T) {
	r := newRig(t, nil)
	id := r.up("")
	r.must(204, "PUT", one(id, "/files/big"), string(randomBytes(32<<20)))
	res, err := r.send(t.Context(), "GET", one(id, "/files/big"), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(res.Body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	r.must(200, "POST", one(id, "/stop"), "")
	r.must(204, "DELETE", one(id, ""), "")
}

// What is in memory is gone after a stop, the rest is kept.
func TestWhatSurvives(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })
	id := r.up("")
	kept := map[string]bool{"/workspace/f": true, "/root/f": true, "/etc/f": true, "/tmp/f": false, "/run/f": false, "/dev/shm/f": false}
	for path := range kept {
		r.must(204, "PUT", one(id, "/files"+path), "x")
	}
	r.must(200, "POST", one(id, "/stop"), "")
	for path, want := range kept {
		if a := r.do("GET", one(id, "/files"+path), ""); (a.status == 200) != want {
			t.Errorf("%s: %s", path, a)
		}
	}
}

// A write that leads through links to a place in memory writes nothing, and one that leads elsewhere does.
func TestWriteThroughLinks(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })
	id := r.up("")
	o := r.exec(id, "sh", "-c", `mkdir -p /root/d /workspace/w && ln -s /tmp /root/t && ln -s ../root/t/x /workspace/l && ln -s d /root/e &&
		ln -s /workspace/w /root/w && ln -s loop /root/loop && ln -s /root/t/../../root/d /root/back`)
	if o.ExitCode != 0 {
		t.Fatalf("%+v", o)
	}
	for path, status := range map[string]int{
		"/root/t/x": 400, "/workspace/l": 400, "/root/t": 400, "/root/e/f": 204, "/root/w/f": 204, "/tmp/f": 204, "/root/d/f": 204, "/root/back/f": 204,
	} {
		if a := r.do("PUT", one(id, "/files"+path), "x"); a.status != status {
			t.Errorf("%s: %s, want %d", path, a, status)
		}
	}
	if a := r.do("PUT", one(id, "/files/root/loop/f"), "x"); a.status == 204 {
		t.Errorf("a loop: %s", a)
	}
}
