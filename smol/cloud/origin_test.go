package cloud_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

// TestMadeSince: the mark of a machine tells which client made it, and when by this client's clock.
func TestMadeSince(t *testing.T) {
	var record atomic.Value
	s := serve(t, answers{
		"POST /machines": says(machine("stopped")),
		getRoute:         func(w http.ResponseWriter, r *http.Request) { says(record.Load().(string))(w, r) },
	})
	b := s.backend()
	mark := func(maker *cloud.Backend) string {
		n := len(s.requests())
		if _, err := maker.Create(t.Context(), &smol.Spec{Name: "web", Image: "alpine"}); err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(s.requests()[n], cloud.OriginLabel+`":"`)
		value, _, _ := strings.Cut(after, `"`)
		return value
	}
	began := time.Now()
	ours, theirs := mark(b), mark(s.backend())
	later := time.Now().Add(time.Nanosecond)
	for _, tt := range []struct {
		name, labels string
		since        time.Time
		made, known  bool
	}{
		{"ours", fmt.Sprintf(`"labels":{%q:%q,"team":"x"}`, cloud.OriginLabel, ours), began, true, true},
		{"ours, of another call", fmt.Sprintf(`"labels":{%q:%q}`, cloud.OriginLabel, ours), later, false, true},
		{"another client's", fmt.Sprintf(`"labels":{%q:%q}`, cloud.OriginLabel, theirs), began, false, true},
		{"not made by this library", `"labels":{"team":"x"}`, began, false, true},
		{"nonsense", fmt.Sprintf(`"labels":{%q:"x.y.z"}`, cloud.OriginLabel), began, false, true},
		{"no labels", `"labels":{}`, began, false, false},
		{"a service without labels", `"x":1`, began, false, false},
		{"no room for a mark", `"labels":` + manyLabels(32), began, false, false},
	} {
		record.Store(machine("stopped", tt.labels))
		made, known, err := b.MadeSince(t.Context(), id, tt.since)
		if made != tt.made || known != tt.known || err != nil {
			t.Errorf("%s: %v, %v, %v", tt.name, made, known, err)
		}
	}
}

func manyLabels(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"l%d":""`, i))
	}
	return "{" + strings.Join(all, ",") + "}"
}

// TestNoRoomForAMark: a user's labels are worth more than ours.
func TestNoRoomForAMark(t *testing.T) {
	s := serve(t, answers{"POST /machines": says(machine("stopped"))})
	labels := map[string]string{}
	for i := range 32 {
		labels[fmt.Sprint("l", i)] = "x"
	}
	if _, err := s.backend().Create(t.Context(), &smol.Spec{Name: "web", Image: "alpine", Labels: labels}); err != nil {
		t.Fatal(err)
	}
	if got := s.bodyOf("POST /machines")["labels"].(map[string]any); len(got) != 32 || got[cloud.OriginLabel] != nil || len(labels) != 32 {
		t.Errorf("sent %v", got)
	}
}

// TestLostCreate: the answer to a create is lost, on a service whose clock is a year behind. One machine is made and used, and a machine that
// somebody else has made under the name is left alone.
func TestLostCreate(t *testing.T) {
	for name, tt := range map[string]struct {
		kept bool // the service makes the machine
		mark bool // with our label
		want error
	}{
		"made":           {true, true, nil},
		"not made":       {false, false, smol.ErrUnavailable},
		"made by others": {true, false, smol.ErrExists},
	} {
		t.Run(name, func(t *testing.T) {
			var labels atomic.Value
			labels.Store("")
			s := serve(t, answers{
				"POST /machines": func(_ http.ResponseWriter, r *http.Request) {
					body := make([]byte, 1<<16)
					n, _ := r.Body.Read(body)
					_, after, _ := strings.Cut(string(body[:n]), `"labels":`)
					own, _, _ := strings.Cut(after, "}")
					if labels.Store(own + "}"); !tt.mark {
						labels.Store(`{"team":"x"}`)
					}
					panic(http.ErrAbortHandler)
				},
				"GET /machines/web": gone,
				"GET /machines": func(w http.ResponseWriter, r *http.Request) {
					if !tt.kept {
						says("[]")(w, r)
						return
					}
					says("["+machine("started", `"labels":`+labels.Load().(string))+"]")(w, r)
				},
				getRoute: func(w http.ResponseWriter, r *http.Request) {
					says(machine("started", `"labels":`+labels.Load().(string)))(w, r)
				},
				execRoute:   saysRunner,
				deleteRoute: func(http.ResponseWriter, *http.Request) { t.Error("deleted a machine") },
			})
			m, err := s.service().Create(t.Context(), smol.Spec{Name: "web", Image: "alpine"}, nil)
			if !errors.Is(err, tt.want) || tt.want == nil && m.ID() != id {
				t.Errorf("%v", err)
			}
			if s.count("POST /machines") != 1 {
				t.Errorf("%d creates", s.count("POST /machines"))
			}
		})
	}
}

// saysRunner answers commands as an image without a shell does: commands run there, and nothing can be set up.
var saysRunner = says(`{"exitCode":127,"stderr":"sh: not found"}`)
