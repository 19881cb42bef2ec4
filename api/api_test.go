package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	Headers     map[string]json.RawMessage
	Content     map[string]struct{ Schema schema }
}

type schema struct {
	Ref         string `json:"$ref"`
	Description string
	Properties  map[string]json.RawMessage
}

func parse(t *testing.T, src []byte) document {
	t.Helper()
	var d document
	if err := json.Unmarshal(src, &d); err != nil {
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

// describesEveryRoute holds that the document has the routes of the contract, which are typed anew so that one which gets lost is missed, and
// that every operation is named, once.
func describesEveryRoute(t *testing.T, yaml, src []byte, routes string) {
	t.Helper()
	want := strings.Split(strings.TrimSpace(routes), "\n")
	slices.Sort(want)
	d := parse(t, src)
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
		if !bytes.Contains(yaml, []byte("operationId: "+op.OperationID+"\n")) {
			t.Errorf("%s is in the JSON and not in the YAML", op.OperationID)
		}
	}
}

func refsResolve(t *testing.T, src []byte) {
	t.Helper()
	var root any
	if err := json.Unmarshal(src, &root); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile(`"\$ref": "([^"]*)"`).FindAllSubmatch(src, -1) {
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

func requireStatuses(t *testing.T, route string, op operation, statuses ...string) {
	t.Helper()
	for _, s := range statuses {
		if _, ok := op.Responses[s]; !ok {
			t.Errorf("%s does not declare %s", route, s)
		}
	}
}
