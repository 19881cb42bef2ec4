package local_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

const (
	branchRoute = "POST /machines/m/branches"
	forkRoute   = "POST /machines/m/fork"
)

// noRoute is how the service says that it does not know a path.
func noRoute(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }

func TestBranch(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts *smol.BranchOptions
		want string
	}{
		{"plain", nil, `{"name":"c"}`},
		{"nested", &smol.BranchOptions{Branchable: true}, `{"branchable":true,"name":"c"}`},
		{"ports", &smol.BranchOptions{Ports: []smol.Port{{Guest: 80, Host: 8080}}}, `{"name":"c","ports":[{"guest":80,"host":8080}]}`},
	} {
		s := serve(t, answers{branchRoute: says(machine("running"))})
		info, err := s.backend().Branch(t.Context(), "m", "c", tt.opts)
		if err != nil || info.State != smol.StateRunning {
			t.Errorf("%s: %+v, %v", tt.name, info, err)
		}
		if diff := cmp.Diff([]string{branchRoute + " " + tt.want}, s.requests()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestBranchPicksPorts(t *testing.T) {
	s := serve(t, answers{branchRoute: says(machine("running"))})
	if _, err := s.backend().Branch(t.Context(), "m", "c", &smol.BranchOptions{Ports: []smol.Port{{Guest: 80}}}); err != nil {
		t.Fatal(err)
	}
	var body struct{ Ports []struct{ Host, Guest int } }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(s.requests()[0], branchRoute+" ")), &body); err != nil {
		t.Fatal(err)
	}
	if len(body.Ports) != 1 || body.Ports[0].Host == 0 || body.Ports[0].Guest != 80 {
		t.Errorf("ports %+v", body.Ports)
	}
}

// TestBranchOnAnOldService takes the old name of the route, and only where the new one is not known.
func TestBranchOnAnOldService(t *testing.T) {
	s := serve(t, answers{branchRoute: noRoute, forkRoute: says(machine("running"))})
	if _, err := s.backend().Branch(t.Context(), "m", "c", nil); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{branchRoute + ` {"name":"c"}`, forkRoute + ` {"name":"c"}`}, s.requests()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// It would take a nested branch for a plain one.
	s = serve(t, answers{branchRoute: noRoute})
	if _, err := s.backend().Branch(t.Context(), "m", "c", &smol.BranchOptions{Branchable: true}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	s = serve(t, answers{branchRoute: noRoute, forkRoute: noRoute})
	if _, err := s.backend().Branch(t.Context(), "m", "c", nil); !errors.Is(err, errors.ErrUnsupported) || errors.Is(err, smol.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	s = serve(t, answers{branchRoute: fails(404, "NOT_FOUND", "vm not found: m")})
	if _, err := s.backend().Branch(t.Context(), "m", "c", nil); !errors.Is(err, smol.ErrNotFound) || len(s.requests()) != 1 {
		t.Errorf("got %v after %q", err, s.requests())
	}
}

func TestBranchRefusals(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		is     error
		code   smol.Code
		hint   string
	}{
		{"not forkable", fails(409, "CONFLICT", "agent operation failed: fork: golden 'm' is not running forkable; start it with forkable=true"), smol.ErrConflict, smol.CodeConflict, "StartOptions.Branchable"},
		{"not branchable, by a newer one", fails(409, "CONFLICT", "machine 'm' was not started branchable; restart it with branchable=true"), smol.ErrConflict, smol.CodeConflict, "Spec.Branchable"},
		{"taken", fails(409, "CONFLICT", "machine 'c' already exists"), smol.ErrExists, smol.CodeExists, "another name"},
		{"port", fails(409, "PORT_IN_USE", "Address already in use"), smol.ErrConflict, smol.CodeConflict, "Port.Host"},
		{"undone", fails(500, "CLONE_IDENTITY_REJUVENATION_FAILED", "clone identity rejuvenation failed"), smol.ErrUnavailable, smol.CodeUnavailable, "try again"},
		{"platform", fails(500, "INTERNAL_ERROR", "agent operation failed: fork: not supported on this platform"), errors.ErrUnsupported, smol.CodeUnsupported, "another machine"},
		{"gave up", gaveUp, smol.ErrUnavailable, smol.CodeUnavailable, "look at the machine"},
	} {
		s := serve(t, answers{branchRoute: tt.answer})
		_, err := s.backend().Branch(t.Context(), "m", "c", nil)
		if e := asError(t, err); !errors.Is(err, tt.is) || e.Code != tt.code || !strings.Contains(e.Hint, tt.hint) || e.Op != "branch" {
			t.Errorf("%s: %+v", tt.name, e)
		}
		if n := len(s.requests()); n != 1 {
			t.Errorf("%s: %d requests", tt.name, n)
		}
	}
	s := serve(t, nil)
	b := s.backend()
	if _, err := b.Branch(t.Context(), "m", "c", &smol.BranchOptions{Labels: map[string]string{"a": "b"}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("labels: %v", err)
	}
	for _, ports := range [][]smol.Port{{{}}, {{Guest: 65536}}, {{Guest: 1, Host: -1}}, {{Guest: 1, Host: 2}, {Guest: 2, Host: 2}}} {
		if _, err := b.Branch(t.Context(), "m", "c", &smol.BranchOptions{Ports: ports}); !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("%+v: %v", ports, err)
		}
	}
}

const pullRoute = "POST /machines/m/images/pull"

func TestPullImage(t *testing.T) {
	const alpine = `{"reference":"docker.io/library/alpine:3.20","digest":"sha256:1","size":7,"architecture":"amd64","os":"linux","layerCount":2}`
	want := &smol.Image{Reference: "docker.io/library/alpine:3.20", Digest: "sha256:1", Size: 7, Architecture: "amd64", OS: "linux", Layers: 2}
	s := serve(t, answers{pullRoute: says(`{"image":` + alpine + `}`)})
	got, err := s.backend().PullImage(t.Context(), "m", "alpine:3.20")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{pullRoute + ` {"image":"alpine:3.20"}`}, s.requests()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// A pull that takes longer than the service waits goes on.
	s = serve(t, answers{
		pullRoute:                gaveUp,
		"GET /machines/m/images": inTurn(says(`{"images":[]}`), hangsUp, says(`{"images":[{"reference":"docker.io/library/alpine:latest"}]}`), says(`{"images":[`+alpine+`]}`)),
	})
	if got, err = s.backend().PullImage(t.Context(), "m", "alpine:3.20"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := s.count(pullRoute); n != 1 {
		t.Errorf("pulled %d times", n)
	}

	s = serve(t, answers{pullRoute: gaveUp, "GET /machines/m/images": says(`{"images":[]}`)})
	if _, err = s.backend().PullImage(t.Context(), "m", "alpine:3.20"); asError(t, err).Status != 408 {
		t.Errorf("got %v", err)
	}
	for _, image := range []string{"", "a\x00", "\xff"} {
		if _, err = s.backend().PullImage(t.Context(), "m", image); !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("%q: %v", image, err)
		}
	}
}

func TestPullImageFails(t *testing.T) {
	s := serve(t, answers{pullRoute: fails(500, "INTERNAL_ERROR", "agent operation failed: pull image: manifest unknown")})
	_, err := s.backend().PullImage(t.Context(), "m", "missing")
	if e := asError(t, err); !errors.Is(err, smol.ErrNotFound) || !strings.Contains(e.Hint, "image's name") {
		t.Errorf("got %+v", e)
	}
}

func TestNormalise(t *testing.T) {
	for ref, want := range map[string]string{
		"alpine":                          "docker.io/library/alpine:latest",
		"alpine:3":                        "docker.io/library/alpine:3",
		"me/app":                          "docker.io/me/app:latest",
		"docker.io/alpine":                "docker.io/library/alpine:latest",
		"index.docker.io/library/alpine":  "docker.io/library/alpine:latest",
		"localhost/app":                   "localhost/app:latest",
		"localhost:5000/app":              "localhost:5000/app:latest",
		"ghcr.io/me/app:v1":               "ghcr.io/me/app:v1",
		"alpine@sha256:1":                 "docker.io/library/alpine@sha256:1",
		"alpine:3@sha256:1":               "docker.io/library/alpine@sha256:1",
		"docker.io/library/alpine:latest": "docker.io/library/alpine:latest",
	} {
		if got := local.Normalise(ref); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}

func TestAtLeast(t *testing.T) {
	for version, want := range map[string]bool{
		"1.14.0": true, "1.14.5": true, "1.15": true, "2.0.0": true, "1.13.99": false, "0.99": false, "": false, "1": false, "v1.14": false, "1.x.0": false,
	} {
		if got := local.AtLeast(version, 1, 14); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}
