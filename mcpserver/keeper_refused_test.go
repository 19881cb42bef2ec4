package mcpserver_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// TestRefusedIsNotKept looks at the record after calls that failed to make a machine. It stays on record only if there may be one.
func TestRefusedIsNotKept(t *testing.T) {
	t.Parallel()
	create := func(name string) args {
		return args{"image": "alpine", "network": "open", "name": name, "start": false}
	}
	post := smoltest.Fault{Method: http.MethodPost, Path: "/api/v1/machines", Action: smoltest.Fail}
	for name, tt := range map[string]struct {
		fault smoltest.Fault
		look  int // the status of a look at the machine, zero for a true one
		kept  bool
	}{
		"refused":         {smoltest.Fault{Status: http.StatusBadRequest}, 0, false},
		"busy":            {smoltest.Fault{Status: http.StatusTooManyRequests}, 0, false},
		"taken":           {smoltest.Fault{Status: http.StatusConflict}, 0, false},
		"no answer known": {smoltest.Fault{Status: http.StatusRequestTimeout}, http.StatusForbidden, true},
		"broken":          {smoltest.Fault{Status: http.StatusInternalServerError}, http.StatusForbidden, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := ""
			s, l := locally(t, func(o *mcpserver.Options) { dir = o.Config.RuntimeDir })
			c := connect(t, s.Server, nil)
			fault := post
			fault.Status = tt.fault.Status
			l.Fault(fault)
			if tt.look != 0 {
				l.Fault(smoltest.Fault{Method: http.MethodGet, Path: "/api/v1/machines/mcp-x", Action: smoltest.Fail, Status: tt.look})
			}
			if res := c.raw("create-machine", create("mcp-x")); !res.IsError {
				t.Fatalf("a machine was made: %v", res)
			}
			if got := recorded(t, dir); slices.Contains(got, "mcp-x") != tt.kept {
				t.Errorf("on record: %v", got)
			}
			l.ClearFaults()
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if got := recorded(t, dir); slices.Contains(got, "mcp-x") != tt.kept { // it may still come
				t.Errorf("on record at the end: %v", got)
			}
		})
	}
}

// TestRefusedBranchIsNotKept asks for branches that cannot be, of a machine that is not there and of one that is no source.
func TestRefusedBranchIsNotKept(t *testing.T) {
	t.Parallel()
	dir := ""
	s, _ := locally(t, func(o *mcpserver.Options) { dir = o.Config.RuntimeDir })
	c := connect(t, s.Server, nil)
	c.fails(mcpserver.CodeNotFound, "branch-machine", args{"name": "none", "childName": "mcp-twig"})
	c.call("create-machine", args{"image": "alpine", "network": "open", "name": "plain"})
	c.fails(mcpserver.CodeConflict, "branch-machine", args{"name": "plain", "childName": "mcp-twig"})
	if got := recorded(t, dir); len(got) > 0 {
		t.Errorf("on record: %v", got)
	}
}
