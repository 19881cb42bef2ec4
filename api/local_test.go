package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/api"
)

// localRoutes is the contract's inventory of operational and machine routes (5.0), typed anew, so that one which gets lost is missed.
const localRoutes = `
GET /capacity
GET /health
GET /inflight
GET /metrics
GET /readyz
POST /drain
GET /api/v1/machines
POST /api/v1/machines
GET /api/v1/machines/{name}
DELETE /api/v1/machines/{name}
POST /api/v1/machines/{name}/start
POST /api/v1/machines/{name}/stop
POST /api/v1/machines/{name}/fork
POST /api/v1/machines/{name}/branches
POST /api/v1/machines/{name}/fork-release
POST /api/v1/machines/{name}/resize
POST /api/v1/machines/{name}/export
POST /api/v1/machines/{name}/sync
POST /api/v1/machines/{name}/checkpoint
POST /api/v1/machines/{name}/pause
POST /api/v1/machines/{name}/resume
GET /api/v1/machines/{name}/egress-events
POST /api/v1/machines/{name}/exec
POST /api/v1/machines/{name}/exec/stream
POST /api/v1/machines/{name}/run
GET /api/v1/machines/{name}/exec/interactive
GET /api/v1/machines/{name}/logs
GET /api/v1/machines/{name}/files/{path}
PUT /api/v1/machines/{name}/files/{path}
GET /api/v1/machines/{name}/images
POST /api/v1/machines/{name}/images/pull`

func TestLocal(t *testing.T) {
	describesEveryRoute(t, api.Local, api.LocalJSON, localRoutes)
	refsResolve(t, api.LocalJSON)
}

func TestLocalErrorShapes(t *testing.T) {
	d := parse(t, api.LocalJSON)
	want := map[string][]string{
		"400": {"ErrorEnvelope text/plain", "text/plain"},
		"404": {"ErrorEnvelope"},
		"408": {""},
		"409": {"ErrorEnvelope"},
		"413": {"text/plain"},
		"415": {"text/plain"},
		"422": {"text/plain"},
		"426": {"text/plain"},
		"500": {"ErrorEnvelope"},
	}
	for route, op := range operations(t, d) {
		if !strings.Contains(route, "/machines") {
			continue // the operational routes have shapes of their own
		}
		for status, r := range op.Responses {
			if allowed, isError := want[status]; isError && !slices.Contains(allowed, shape(d, r)) {
				t.Errorf("%s: %s is %q, want one of %q", route, status, shape(d, r), allowed)
			}
			if r.Ref == "" && r.Description == "" {
				t.Errorf("%s: %s has no description", route, status)
			}
		}
		if strings.Contains(route, "{name}") && !strings.Contains(route, "/sync") {
			requireStatuses(t, route, op, "404", "500")
		}
		if _, ok := op.RequestBody.Content["application/json"]; ok && !strings.HasSuffix(route, "/pause") && !strings.HasSuffix(route, "/resume") {
			requireStatuses(t, route, op, "400", "413", "415", "422")
		}
	}
}
