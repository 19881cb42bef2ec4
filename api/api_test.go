package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/api"
)

type document struct {
	OpenAPI    string
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Responses map[string]response
		Schemas   map[string]schema
	}
}

type operation struct {
	OperationID string
	Tags        []string
	Summary     string
	RequestBody struct {
		Required bool
		Content  map[string]json.RawMessage
	}
	Responses map[string]response
}

type response struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]struct{ Schema schema }
}

type schema struct {
	Ref         string `json:"$ref"`
	Description string
	Properties  map[string]json.RawMessage
}

func parse(t *testing.T) document {
	t.Helper()
	var d document
	if err := json.Unmarshal(api.LocalJSON, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// operations returns the operations by method and path.
func operations(t *testing.T, d document) map[string]operation {
	t.Helper()
	ops := map[string]operation{}
	for path, item := range d.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var op operation
			if err := json.Unmarshal(raw, &op); err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			ops[strings.ToUpper(method)+" "+path] = op
		}
	}
	return ops
}

// routes is the contract's inventory of operational and machine routes (5.0), typed anew, so that one which gets lost is missed.
var routes = `
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

func TestLocalDescribesEveryRoute(t *testing.T) {
	want := strings.Split(strings.TrimSpace(routes), "\n")
	slices.Sort(want)
	d := parse(t)
	ops := operations(t, d)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(ops))); diff != "" {
		t.Errorf("routes (-contract +document):\n%s", diff)
	}
	if d.OpenAPI != "3.1.0" {
		t.Errorf("openapi %q", d.OpenAPI)
	}
	seen := map[string]string{}
	for route, op := range ops {
		if op.OperationID == "" || op.Summary == "" || len(op.Tags) != 1 {
			t.Errorf("%s: operationId, summary or tag is missing", route)
		}
		if other := seen[op.OperationID]; other != "" {
			t.Errorf("%s and %s are both %s", route, other, op.OperationID)
		}
		seen[op.OperationID] = route
		if !bytes.Contains(api.Local, []byte("operationId: "+op.OperationID+"\n")) {
			t.Errorf("%s is in the JSON and not in the YAML", op.OperationID)
		}
	}
}

func TestLocalRefsResolve(t *testing.T) {
	var root any
	if err := json.Unmarshal(api.LocalJSON, &root); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile(`"\$ref": "([^"]*)"`).FindAllSubmatch(api.LocalJSON, -1) {
		n++
		at := root
		for key := range strings.SplitSeq(strings.TrimPrefix(string(m[1]), "#/"), "/") {
			object, _ := at.(map[string]any)
			at = object[key]
		}
		if at == nil {
			t.Errorf("%s does not resolve", m[1])
		}
	}
	if n < 100 {
		t.Errorf("only %d references found", n)
	}
}

// shape says how a response is framed: by its content types, and the schema of its JSON.
func shape(d document, r response) string {
	if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
		r = d.Components.Responses[name]
	}
	var s []string
	for ct, c := range r.Content {
		if ct == "application/json" {
			ct = strings.TrimPrefix(c.Schema.Ref, "#/components/schemas/")
		}
		s = append(s, ct)
	}
	slices.Sort(s)
	return strings.Join(s, " ")
}

func TestLocalErrorShapes(t *testing.T) {
	d := parse(t)
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

func requireStatuses(t *testing.T, route string, op operation, statuses ...string) {
	t.Helper()
	for _, s := range statuses {
		if _, ok := op.Responses[s]; !ok {
			t.Errorf("%s does not declare %s", route, s)
		}
	}
}

// TestCorrectionsNameWhatExists keeps corrections.md true to the document: what its first columns quote is an operation, a schema or a
// field of one, and its evidence is a section of the contract.
func TestCorrectionsNameWhatExists(t *testing.T) {
	d := parse(t)
	names := map[string]bool{}
	for _, op := range operations(t, d) {
		names[op.OperationID] = true
	}
	for name, s := range d.Components.Schemas {
		names[name] = true
		for field := range s.Properties {
			names[name+"."+field] = true
		}
	}
	sections := readSections(t)
	src, err := os.ReadFile("corrections.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	rows := 0
	for line := range strings.Lines(string(src)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || strings.HasPrefix(cells[0], "-") || strings.HasSuffix(strings.TrimSpace(cells[3]), "evidence") || strings.TrimSpace(cells[3]) == "set" {
			continue
		}
		rows++
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			if !names[m[1]] {
				t.Errorf("corrections.md: %s is not in the document", m[1])
			}
		}
		for evidence := range strings.SplitSeq(cells[3], ",") {
			if e := strings.TrimSpace(evidence); len(e) > 0 && e[0] >= '0' && e[0] <= '9' && !sections[e] {
				t.Errorf("corrections.md: there is no section %s", e)
			}
		}
	}
	if rows < 50 {
		t.Errorf("only %d rows found", rows)
	}
}

func readSections(t *testing.T) map[string]bool {
	t.Helper()
	src, err := os.ReadFile("../testdata/wire/sections.txt")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for line := range strings.Lines(string(src)) {
		if number, _, ok := strings.Cut(line, " "); ok && number != "#" {
			sections[number] = true
		}
	}
	return sections
}
