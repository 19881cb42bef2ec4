package cloud_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

const (
	branchRoute = "POST /machines/" + id + "/branches"
	forkRoute   = "POST /machines/" + id + "/fork"
)

// unmarked is a body without the label of the client, which it checks.
func unmarked(t *testing.T, body map[string]any) map[string]any {
	t.Helper()
	labels, _ := body["labels"].(map[string]any)
	if mark, _ := labels[cloud.OriginLabel].(string); mark == "" || mark == "theirs" {
		t.Errorf("labels are %v, without a mark of this client", labels)
	}
	delete(labels, cloud.OriginLabel)
	return body
}

func TestBranch(t *testing.T) {
	twig := `{"id":"twig-1","name":"twig","state":"started","parentMachineId":"` + id + `"}`
	source := says(machine("started", `"labels":{"team":"x","smol-go/made":"theirs"}`))
	for _, tt := range []struct {
		name string
		opts *smol.BranchOptions
		want map[string]any
	}{
		{"as the source", nil, map[string]any{"name": "twig", "labels": map[string]any{"team": "x"}}},
		{
			"with everything",
			&smol.BranchOptions{Ports: []smol.Port{{Guest: 80}}, Branchable: true, Labels: map[string]string{"a": "b"}},
			map[string]any{"name": "twig", "labels": map[string]any{"a": "b"}, "branchable": true, "ports": []any{map[string]any{"port": 80.0}}},
		},
		{"without labels", &smol.BranchOptions{Labels: map[string]string{}}, map[string]any{"name": "twig", "labels": map[string]any{}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answers{branchRoute: saysStatus(http.StatusCreated, twig), getRoute: source})
			info, err := s.backend().Branch(t.Context(), id, "twig", tt.opts)
			if err != nil || info.ID != "twig-1" || info.State != smol.StateRunning {
				t.Fatalf("%v, %v", info, err)
			}
			if diff := cmp.Diff(tt.want, unmarked(t, s.bodyOf(branchRoute))); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFork: an older service has another name for it, and for the field that lets a branch be branched.
func TestFork(t *testing.T) {
	none := empty(http.StatusNotFound)
	opts := &smol.BranchOptions{Branchable: true, Labels: map[string]string{}}
	s := serve(t, answers{branchRoute: none, forkRoute: saysStatus(http.StatusCreated, `{"id":"twig-1","name":"twig","state":"running"}`)})
	info, err := s.backend().Branch(t.Context(), id, "twig", opts)
	if err != nil || info.ID != "twig-1" {
		t.Fatalf("%v, %v", info, err)
	}
	want := map[string]any{"name": "twig", "forkable": true, "labels": map[string]any{}}
	if diff := cmp.Diff(want, unmarked(t, s.bodyOf(forkRoute))); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}

	s = serve(t, answers{branchRoute: none, forkRoute: none, getRoute: says(machine("started"))})
	if _, err := s.backend().Branch(t.Context(), id, "twig", opts); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(hintOf(err), "another machine") {
		t.Errorf("a service without branches: %v", err)
	}
	s = serve(t, answers{branchRoute: none, forkRoute: none, getRoute: gone})
	if _, err := s.backend().Branch(t.Context(), id, "twig", opts); !errors.Is(err, smol.ErrNotFound) || errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a machine that is gone: %v", err)
	}
	// That the machine is missing is not said twice.
	s = serve(t, answers{branchRoute: gone})
	if _, err := s.backend().Branch(t.Context(), id, "twig", opts); !errors.Is(err, smol.ErrNotFound) {
		t.Error(err)
	}
}

func TestBranchRefused(t *testing.T) {
	opts := &smol.BranchOptions{Labels: map[string]string{}}
	for _, tt := range []struct {
		status     int
		text, hint string
		want       error
	}{
		{409, "machine is not branchable", "Spec.Branchable", smol.ErrConflict},
		{409, "machine was not created forkable", "Spec.Branchable", smol.ErrConflict},
		{409, "name already in use", "another name", smol.ErrExists},
		{409, "twig already exists", "another name", smol.ErrExists},
		{409, "machine is not ready", "", smol.ErrConflict},
		{422, "concurrency limit reached: plan Free", "stop machines", smol.ErrConflict},
	} {
		s := serve(t, answers{branchRoute: fails(tt.status, "", tt.text)})
		_, err := s.backend().Branch(t.Context(), id, "twig", opts)
		if !errors.Is(err, tt.want) || !strings.Contains(hintOf(err), tt.hint) || s.count(branchRoute) != 1 {
			t.Errorf("%s: %v, hint %q", tt.text, err, hintOf(err))
		}
	}
	s := serve(t, answers{branchRoute: says(`{}`)})
	if _, err := s.backend().Branch(t.Context(), id, "twig", opts); asError(t, err).Code != smol.CodeUnknown {
		t.Error(err)
	}

	s = serve(t, answers{})
	b := s.backend()
	for name, tt := range map[string]struct {
		child string
		opts  *smol.BranchOptions
		want  error
	}{
		"no name":      {"", opts, smol.ErrInvalid},
		"a bad name":   {"../x", opts, smol.ErrInvalid},
		"a long name":  {strings.Repeat("x", 64), opts, smol.ErrInvalid},
		"a port here":  {"twig", &smol.BranchOptions{Ports: []smol.Port{{Guest: 80, Host: 80}}}, errors.ErrUnsupported},
		"a bad port":   {"twig", &smol.BranchOptions{Ports: []smol.Port{{Guest: 0}}}, smol.ErrInvalid},
		"a bad label":  {"twig", &smol.BranchOptions{Labels: map[string]string{"A": "x"}}, smol.ErrInvalid},
		"our own mark": {"twig", &smol.BranchOptions{Labels: map[string]string{cloud.OriginLabel: "x"}}, smol.ErrInvalid},
	} {
		if _, err := b.Branch(t.Context(), id, tt.child, tt.opts); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := s.requests(); len(got) > 0 {
		t.Errorf("sent %q", got)
	}
}
