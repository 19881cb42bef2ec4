package wiretest

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// SameJSON compares two JSON texts; the first may have the placeholders of a transcript.
func SameJSON(tb testing.TB, want, got string) {
	tb.Helper()
	if err := matchJSON(want, got); err != nil {
		tb.Error(err)
	}
}

// NoNull holds that v is encoded without null anywhere: services refuse it where a list or a bool is expected, and where they do not it means
// something else than leaving the field out.
func NoNull(tb testing.TB, v any) {
	tb.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		tb.Errorf("%T: %v", v, err)
		return
	}
	decoded, err := decode(string(b))
	if err != nil {
		tb.Errorf("%T: %v", v, err)
		return
	}
	for _, path := range nulls("$", decoded) {
		tb.Errorf("%T sends %s as null: %s", v, path, b)
	}
}

func nulls(path string, v any) []string {
	var found []string
	switch v := v.(type) {
	case nil:
		return []string{path}
	case map[string]any:
		for name, member := range v {
			found = append(found, nulls(path+"."+name, member)...)
		}
	case []any:
		for _, e := range v {
			found = append(found, nulls(path+"[]", e)...)
		}
	}
	return found
}

// FollowsDocument compares the fields of a hand-written struct, which no generator keeps true, with the schema of its name in an OpenAPI
// document. The fields that are always sent must be those that the schema requires, or those of always, unless that is nil.
func FollowsDocument(tb testing.TB, document []byte, typ reflect.Type, always []string) {
	tb.Helper()
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		tb.Fatal(err)
	}
	schema, ok := doc.Components.Schemas[typ.Name()]
	if !ok {
		tb.Errorf("the document has no schema %s", typ.Name())
		return
	}
	if always == nil {
		always = schema.Required
	}
	var fields, sent []string
	for i := range typ.NumField() {
		name, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		fields = append(fields, name)
		if options == "" {
			sent = append(sent, name)
		}
	}
	compareNames(tb, typ.Name()+": the document has", slices.Sorted(maps.Keys(schema.Properties)), fields)
	compareNames(tb, typ.Name()+": always there should be", always, sent)
}

func compareNames(tb testing.TB, what string, want, got []string) {
	tb.Helper()
	want, got = slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))
	if !slices.Equal(want, got) {
		tb.Errorf("%s\n%q, the type\n%q", what, want, got)
	}
}
