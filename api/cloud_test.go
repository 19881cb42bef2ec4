package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/api"
)

// cloudRoutes is the contract's inventory of routes (2.1 to 2.11), with those two of the service that a client needs besides (1.4, 2.17).
const cloudRoutes = `
GET /health
GET /v1/account
GET /v1/machines
POST /v1/machines
GET /v1/machines/{id}
DELETE /v1/machines/{id}
POST /v1/machines/{id}/start
POST /v1/machines/{id}/stop
POST /v1/machines/{id}/pause
POST /v1/machines/{id}/resume
POST /v1/machines/{id}/resize
POST /v1/machines/{id}/rollback
POST /v1/machines/{id}/snapshot
GET /v1/machines/{id}/snapshots
POST /v1/machines/{id}/export
POST /v1/machines/{id}/exec
POST /v1/machines/{id}/exec/stream
GET /v1/machines/{id}/exec/interactive
POST /v1/machines/{id}/code
GET /v1/machines/{id}/sessions
POST /v1/machines/{id}/sessions
DELETE /v1/machines/{id}/sessions/{session}
POST /v1/machines/{id}/sessions/{session}/exec
GET /v1/machines/{id}/events
GET /v1/machines/{id}/logs
GET /v1/machines/{id}/files/{path}
PUT /v1/machines/{id}/files/{path}
PUT /v1/machines/{id}/ports
POST /v1/machines/{id}/port-links
DELETE /v1/machines/{id}/port-links
POST /v1/machines/{id}/share
DELETE /v1/machines/{id}/share
GET /v1/machines/{id}/connect/{port}
HEAD /v1/machines/{id}/connect/{port}
POST /v1/machines/{id}/connect/{port}
PUT /v1/machines/{id}/connect/{port}
PATCH /v1/machines/{id}/connect/{port}
DELETE /v1/machines/{id}/connect/{port}
GET /v1/machines/{id}/connect/{port}/{rest}
HEAD /v1/machines/{id}/connect/{port}/{rest}
POST /v1/machines/{id}/connect/{port}/{rest}
PUT /v1/machines/{id}/connect/{port}/{rest}
PATCH /v1/machines/{id}/connect/{port}/{rest}
DELETE /v1/machines/{id}/connect/{port}/{rest}
POST /v1/machines/{id}/connect-token
GET /v1/machines/{id}/tunnel/{port}
POST /v1/machines/{id}/branches
POST /v1/machines/{id}/branches/batch
POST /v1/machines/{id}/fork
POST /v1/machines/{id}/fork-batch
GET /v1/machines/{id}/lineage
GET /v1/machines/{id}/usage
GET /v1/machines/{id}/checkpoints
POST /v1/machines/{id}/checkpoints
POST /v1/checkpoints
GET /v1/checkpoints/{id}
DELETE /v1/checkpoints/{id}
GET /v1/checkpoints/{id}/download
POST /v1/checkpoints/{id}/restore
POST /v1/checkpoints/{id}/complete
POST /v1/machines/{id}/assign
GET /v1/leases/{id}
POST /v1/leases/{id}/heartbeat
POST /v1/leases/{id}/complete
GET /v1/cache-disks
POST /v1/cache-disks
GET /v1/cache-disks/{id}
DELETE /v1/cache-disks/{id}
POST /v1/machines/{id}/cache-disk/publish`

func TestCloud(t *testing.T) {
	describesEveryRoute(t, api.Cloud, api.CloudJSON, cloudRoutes)
	refsResolve(t, api.CloudJSON)
}

// The cloud's errors come in all shapes at every status, so every one is declared with all of them, and every operation with what any request
// may be answered.
func TestCloudErrorShapes(t *testing.T) {
	d := parse(t, api.CloudJSON)
	for route, op := range operations(t, d) {
		if route == "GET /health" {
			continue // answers without a key
		}
		requireStatuses(t, route, op, "401", "402", "403", "429")
		bridge := strings.Contains(route, "/connect/")
		if !bridge {
			requireStatuses(t, route, op, "500")
		}
		if strings.Contains(route, "{id}") {
			requireStatuses(t, route, op, "404")
		}
		for status, r := range op.Responses {
			if !strings.HasPrefix(status, "4") && !strings.HasPrefix(status, "5") {
				if r.Ref == "" && r.Description == "" {
					t.Errorf("%s: %s has no description", route, status)
				}
				continue
			}
			want := "LegacyError application/problem+json text/plain"
			if status == "405" {
				want = ""
			}
			if got := shape(d, r); got != want {
				t.Errorf("%s: %s is %q, want %q", route, status, got, want)
			}
		}
		if strings.HasSuffix(route, "/branches") && !slices.Contains(op.Tags, "branches") {
			t.Errorf("%s has the tags %q", route, op.Tags)
		}
	}
}

// Every response has the header by which the service's operators find a request.
func TestCloudRequestIDs(t *testing.T) {
	d := parse(t, api.CloudJSON)
	for name, r := range d.Components.Responses {
		if _, ok := r.Headers["x-request-id"]; !ok {
			t.Errorf("the response %s has no x-request-id", name)
		}
	}
	for route, op := range operations(t, d) {
		for status, r := range op.Responses {
			if _, ok := r.Headers["x-request-id"]; !ok && r.Ref == "" && status != "101" && status != "default" {
				t.Errorf("%s: %s has no x-request-id", route, status)
			}
		}
	}
}
