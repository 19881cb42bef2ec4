package localwire_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/api"
	localwire "github.com/smol-machines/smol-go/internal/wire/local"
)

// TestHandWrittenTypesFollowTheDocument compares the fields of the hand-written types, which no generator keeps true, with the schemas.
func TestHandWrittenTypesFollowTheDocument(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(api.LocalJSON, &doc); err != nil {
		t.Fatal(err)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[localwire.CreateMachineRequest](), reflect.TypeFor[localwire.MachineInfo]()} {
		schema, ok := doc.Components.Schemas[typ.Name()]
		if !ok {
			t.Errorf("the document has no schema %s", typ.Name())
			continue
		}
		var fields, always []string
		for i := range typ.NumField() {
			name, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			fields = append(fields, name)
			if options == "" {
				always = append(always, name)
			}
		}
		slices.Sort(fields)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(schema.Properties)), fields); diff != "" {
			t.Errorf("%s (-document +type):\n%s", typ.Name(), diff)
		}
		if typ == reflect.TypeFor[localwire.CreateMachineRequest]() {
			schema.Required = []string{"network"} // sent although the document does not ask for it
		}
		slices.Sort(always)
		slices.Sort(schema.Required)
		if diff := cmp.Diff(schema.Required, always); diff != "" {
			t.Errorf("%s, fields that are always there (-document +type):\n%s", typ.Name(), diff)
		}
	}
}
