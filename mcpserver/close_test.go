package mcpserver_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
)

// closer is a source that takes a while to be let go of, and tells what was there then.
type closer struct {
	mcpserver.FleetSource
	fleet *memory
	takes time.Duration
	once  sync.Once
	left  chan []string
}

func (c *closer) Close(context.Context) error {
	c.once.Do(func() {
		c.left <- c.fleet.names()
		time.Sleep(c.takes) // as the end of a service does, which no context ends
	})
	return nil
}

// TestClose deletes machines first, lets go of the fleets last, and takes no more than ten seconds for both whatever does not end.
func TestClose(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stuck bool
		takes time.Duration
		says  []string
	}{
		{"well", false, time.Second, nil},
		{"delete", true, time.Second, []string{"mcp-a"}},
		{"fleet", false, time.Minute, []string{"end of the local fleet"}},
		{"both", true, time.Minute, []string{"mcp-a", "end of the local fleet"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newMemory("local")
				src := &closer{FleetSource: mcpserver.FixedFleet(smol.NewFleet(f)), fleet: f, takes: tt.takes, left: make(chan []string, 1)}
				var dir string
				s := serve(t, func(o *mcpserver.Options) { o.Config.Targets, o.Local, dir = "local", src, o.Config.RuntimeDir })
				c := connect(t, s.Server, nil)
				for _, name := range []string{"mcp-a", "mcp-b", "named"} {
					c.call("create-machine", args{"image": "alpine", "network": "open", "name": name, "start": false})
				}
				f.stuck["mcp-a"] = tt.stuck
				want := []string{"named"}
				if tt.stuck {
					want = []string{"mcp-a", "named"}
				}
				began := time.Now()
				err := s.Close(t.Context())
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("it takes %v", took)
				}
				if (err == nil) != (tt.says == nil) {
					t.Errorf("close: %v", err)
				}
				for _, what := range tt.says {
					if !strings.Contains(fmt.Sprint(err), what) {
						t.Errorf("close does not tell of %s: %v", what, err)
					}
				}
				if left := <-src.left; !slices.Equal(left, want) {
					t.Errorf("when the fleet is let go of, there are %v, want %v", left, want)
				}
				if got := recorded(t, dir); tt.stuck != slices.Equal(got, []string{"mcp-a"}) {
					t.Errorf("on record: %v", got)
				}
				if !strings.Contains(s.log.String(), "mcp-b") || tt.stuck && !strings.Contains(s.log.String(), "was not deleted") {
					t.Errorf("the log does not tell:\n%s", s.log)
				}
				time.Sleep(tt.takes) // the end of the service comes after all
			})
		})
	}
}
