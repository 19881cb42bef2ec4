package mcpserver_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// slow is a server whose machines do not get ready.
type slow struct {
	*server
	fleet *smol.Fleet
	dir   string
	waits func() bool // whether a create waits
	taken func() bool // whether it is being taken back
	let   func()      // ends what it waits for
}

// notReady is a server in the cloud in whose machines no command is answered.
func notReady(t *testing.T) *slow {
	cl := smoltest.NewCloud(t, &smoltest.CloudOptions{Guest: guest()})
	hung := cl.Fault(smoltest.Fault{Path: "exec", Action: smoltest.Hang})
	s := &slow{let: func() {}, waits: func() bool { return hung.Fired() > 0 }}
	s.fleet, s.taken = cl.Service(t).Fleet, func() bool { return cl.Count("DELETE", "/v1/machines/*") > 0 }
	s.server = serve(t, func(o *mcpserver.Options) {
		o.Config.Targets, o.Cloud, s.dir = "cloud", mcpserver.FixedFleet(s.fleet), o.Config.RuntimeDir
	})
	return s
}

// pulls is a local server that pulls an image; a pull goes on when whoever wanted it has gone.
func pulls(t *testing.T) *slow {
	pulling, pulled := make(chan struct{}), make(chan struct{})
	s := &slow{let: sync.OnceFunc(func() { close(pulled) })}
	s.waits = func() bool {
		select {
		case <-pulling:
			return true
		default:
			return false
		}
	}
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: guest(), Pull: func(context.Context, string) error {
		close(pulling)
		<-pulled
		return nil
	}})
	t.Cleanup(s.let)
	s.fleet, s.taken = l.Service(t).Fleet, func() bool { return l.Count("DELETE", "/api/v1/machines/*") > 0 }
	s.server = serve(t, func(o *mcpserver.Options) {
		o.Config.Targets, o.Local, s.dir = "local", mcpserver.FixedFleet(s.fleet), o.Config.RuntimeDir
	})
	return s
}

// TestTakenBack takes a create back, or ends its session, while it waits. The machine goes.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*testing.T) *slow{"readiness": notReady, "pull": pulls} {
		for how, leaves := range map[string]bool{"cancelled": false, "ended": true} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				s := begin(t)
				c := connect(t, s.Server, nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done, closed := make(chan error, 1), make(chan error, 1)
				go func() {
					_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "create-machine", Arguments: args{"image": "alpine", "network": "open"}})
					done <- err
				}()
				eventually(t, s.waits)
				if leaves {
					go func() { closed <- s.Close(t.Context()) }()
				} else {
					cancel()
					<-done // before the wait is over
					closed <- nil
				}
				eventually(t, s.taken)
				s.let()
				if err := <-closed; err != nil {
					t.Error(err)
				}
				eventually(t, func() bool { return len(names(t, s.fleet)) == 0 })
				// What is taken back while its image is pulled was not made yet: for all that is known it may still come.
				if leaves && name != "pull" && len(recorded(t, s.dir)) > 0 {
					t.Errorf("on record: %v", recorded(t, s.dir))
				}
			})
		}
	}
}

// TestUntold takes a machine back that was made and of which nobody can be told.
func TestUntold(t *testing.T) {
	t.Parallel()
	s, l := locally(t, nil)
	c := connect(t, s.Server, nil)
	c.call("create-machine", args{"image": "alpine", "network": "open", "name": "base", "branchable": true})
	l.Fault(smoltest.Fault{Method: "GET", Path: "/api/v1/machines/named", Action: smoltest.Fail, Status: 400})
	c.fails(mcpserver.CodeInvalid, "create-machine", args{"image": "alpine", "network": "open", "name": "named", "start": false})
	c.fails(mcpserver.CodeInvalid, "branch-machine", args{"name": "base", "childName": "named", "wait": false})
	l.ClearFaults()
	if got := names(t, l.Service(t).Fleet); len(got) != 1 {
		t.Errorf("left: %v", got)
	}
}

// late is a service whose answer to a create is lost, and whose machine comes when nobody waits for it any more.
type late struct{ *memory }

func (late) Create(context.Context, *smol.Spec) (*smol.Info, error) {
	return nil, &smol.Error{Code: smol.CodeUnavailable, Message: "the connection was cut", Err: smol.ErrUnavailable}
}

// TestComesAfterItsSession: a machine that may still come stays on record when its session ends in order, and the next program deletes it.
func TestComesAfterItsSession(t *testing.T) {
	t.Parallel()
	dir, b := filepath.Join(t.TempDir(), "run"), late{newMemory("local")}
	fleet := smol.NewFleet(b)
	s := again(t, dir, fleet, nil)
	c := connect(t, s.Server, nil)
	c.fails(mcpserver.CodeUnavailable, "create-machine", args{"image": "alpine", "network": "open", "start": false})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	left := recorded(t, dir)
	if len(left) != 1 {
		t.Fatalf("on record: %v", left)
	}
	b.add(&smol.Info{Name: left[0], State: smol.StateStopped, CreatedAt: time.Now()})
	again(t, dir, fleet, nil)
	eventually(t, func() bool { return len(b.names()) == 0 })
}
