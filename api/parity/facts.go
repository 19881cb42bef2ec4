package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// facts are what a document says, by place: "GET /things/{}", "GET /things/{} 200", "GET /things/{} 200 application/json.name[]".
type facts map[string]fact

// fact is a type, or what else there is, and the place that it lies in.
type fact struct{ is, in string }

// document is as much of OpenAPI 3 as is compared.
type document struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Parameters    map[string]parameter
		RequestBodies map[string]body
		Responses     map[string]body
		Schemas       map[string]schema
	}
}

type operation struct {
	Parameters  []parameter
	RequestBody *body
	Responses   map[string]body
}

type parameter struct {
	Ref      string `json:"$ref"`
	Name, In string
	Schema   schema
}

type body struct {
	Ref     string `json:"$ref"`
	Content map[string]struct{ Schema schema }
}

type schema struct {
	Ref                 string `json:"$ref"`
	Type                kinds
	Properties          map[string]schema
	Items               *schema
	AllOf, OneOf, AnyOf []schema
}

// kinds is a type, or a list of them.
type kinds []string

// UnmarshalJSON takes both spellings.
func (k *kinds) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*k = kinds{one}
		return nil
	}
	var list []string
	err := json.Unmarshal(b, &list)
	*k = list
	return err
}

// reader collects the facts of a document.
type reader struct {
	document
	out facts
}

func read(src []byte) (facts, error) {
	r := reader{out: facts{}}
	if err := json.Unmarshal(src, &r.document); err != nil {
		return nil, fmt.Errorf("no OpenAPI document in JSON: %w", err)
	}
	if len(r.Paths) == 0 {
		return nil, errors.New("no OpenAPI document in JSON: it has no paths")
	}
	for path, item := range r.Paths {
		if err := r.path(path, item); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return r.out, nil
}

var methods = []string{
	http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodOptions, http.MethodHead, http.MethodPatch, http.MethodTrace,
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

func (r *reader) path(path string, item map[string]json.RawMessage) error {
	var shared []parameter
	if raw := item["parameters"]; raw != nil {
		if err := json.Unmarshal(raw, &shared); err != nil {
			return err
		}
	}
	path = pathParameter.ReplaceAllString(path, "{}")
	for name, raw := range item {
		method := strings.ToUpper(name)
		if !slices.Contains(methods, method) {
			continue
		}
		var op operation
		if err := json.Unmarshal(raw, &op); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		op.Parameters = append(shared[:len(shared):len(shared)], op.Parameters...)
		r.operation(method+" "+path, &op)
	}
	return nil
}

func (r *reader) operation(at string, op *operation) {
	r.out[at] = fact{is: "route"}
	for _, p := range op.Parameters {
		if p.Ref != "" {
			p = r.Components.Parameters[last(p.Ref)]
		}
		if p.In != "path" {
			r.schema(at, " "+p.In+":"+p.Name, &p.Schema, nil)
		}
	}
	if b := op.RequestBody; b != nil {
		if b.Ref != "" {
			*b = r.Components.RequestBodies[last(b.Ref)]
		}
		r.body(at, " request", b)
	}
	for status, b := range op.Responses {
		if b.Ref != "" {
			b = r.Components.Responses[last(b.Ref)]
		}
		r.body(at, " "+status, &b)
	}
}

func (r *reader) body(in, name string, b *body) {
	at := in + name
	r.out[at] = fact{"body", in}
	for typ, c := range b.Content {
		typ, _, _ = strings.Cut(typ, ";")
		r.schema(at, " "+typ, &c.Schema, nil)
	}
}

// schema notes the type and the fields of a schema; within lists the references that lead here, none of which is followed a second time.
func (r *reader) schema(in, name string, s *schema, within []string) {
	at, types := in+name, map[string]bool{}
	r.merge(at, s, within, types)
	delete(types, "null")
	if len(types) == 0 {
		types["any"] = true
	}
	r.out[at] = fact{strings.Join(slices.Sorted(maps.Keys(types)), "|"), in}
}

// merge is schema for one of several whose fields come together: those of a union, too, since a document may spell them either way.
func (r *reader) merge(at string, s *schema, within []string, types map[string]bool) {
	if s.Ref != "" {
		to, ok := r.Components.Schemas[last(s.Ref)]
		if !ok || slices.Contains(within, s.Ref) {
			types["any"] = types["any"] || !ok
			types["object"] = types["object"] || ok
			return
		}
		r.merge(at, &to, append(within[:len(within):len(within)], s.Ref), types)
		return
	}
	for _, t := range s.Type {
		types[t] = true
	}
	if s.Properties != nil {
		types["object"] = true
	}
	for name, p := range s.Properties {
		r.schema(at, "."+name, &p, within)
	}
	if s.Items != nil {
		types["array"] = true
		r.schema(at, "[]", s.Items, within)
	}
	for _, part := range slices.Concat(s.AllOf, s.OneOf, s.AnyOf) {
		r.merge(at, &part, within, types)
	}
}

// last is the name that a reference ends in.
func last(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }
