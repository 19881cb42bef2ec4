package environ_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/environ"
)

func TestOverlay(t *testing.T) {
	got := environ.Overlay([]string{"A=1", "B=2", "AB=3"}, []string{"B=4", "C=5", "C=6", "B="})
	if diff := cmp.Diff([]string{"A=1", "AB=3", "B=", "C=6"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestImage(t *testing.T) {
	for _, tt := range []struct{ env, want []string }{
		{nil, []string{environ.Path, environ.Home}},
		{[]string{"HOME=/h", "X=1"}, []string{"HOME=/h", "X=1", environ.Path}},
	} {
		conf := sim.Config{Env: tt.env}
		if diff := cmp.Diff(tt.want, environ.Image(conf)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !cmp.Equal(conf.Env, tt.env) {
			t.Errorf("the image's environment was changed: %v", conf.Env)
		}
	}
}
