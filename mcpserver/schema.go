package mcpserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// command is a command as an agent gives it: a string for the machine's shell, or a list without one.
type command struct{ argv []string }

// UnmarshalJSON takes a string or a list of strings.
func (c *command) UnmarshalJSON(data []byte) error {
	var script string
	if err := json.Unmarshal(data, &script); err == nil {
		c.argv = []string{"sh", "-c", script}
		return nil
	}
	return json.Unmarshal(data, &c.argv)
}

// commandSchema is the schema of a command. The choice stands inside a property, where every client takes it.
func commandSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "string"},
		{Type: "array", Items: &jsonschema.Schema{Type: "string"}, MinItems: jsonschema.Ptr(1)},
	}}
}

// machineSchema stands for the schema of a machine that is not get-machine's: a list of tools has no room for more than one. Texts say that it is
// the same.
func machineSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object"}
}

// schemaOf returns the schema of T, whose fields carry their descriptions. It panics on a type that has none, which is a mistake of
// this package that shows in every test.
func schemaOf[T any]() *jsonschema.Schema {
	types := map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[command](): commandSchema()}
	if machine := reflect.TypeFor[machineResult](); machine != reflect.TypeFor[T]() {
		types[machine] = machineSchema()
	}
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		panic(fmt.Sprintf("mcpserver: schema of %v: %v", reflect.TypeFor[T](), err))
	}
	return s
}

// inputSchema returns the schema of arguments of type T: nothing in it may be null, since some clients refuse to send, and some to
// read, a schema with a union of types.
func inputSchema[T any]() *jsonschema.Schema {
	s := schemaOf[T]()
	walk(s, func(s *jsonschema.Schema) {
		if typ := withoutNull(s.Types); typ != "" {
			s.Type, s.Types = typ, nil
		}
	})
	return s
}

// outputSchema returns the schema of a result of type T: a pointer is a value or null, a list is never null.
func outputSchema[T any]() *jsonschema.Schema {
	s := schemaOf[T]()
	walk(s, func(s *jsonschema.Schema) {
		if s.Properties != nil {
			s.AdditionalProperties = nil // results grow
		}
		for _, p := range s.Properties {
			p.Required = nil // a list of tools has no room for what is in a result's parts
		}
		if s.Items != nil {
			s.Items.Required = nil
		}
		typ := withoutNull(s.Types)
		switch {
		case typ == "":
		case typ == "array" || s.AdditionalProperties != nil && s.Properties == nil:
			s.Type, s.Types = typ, nil
		default:
			inner := *s
			inner.Type, inner.Types, inner.Description, inner.Required = typ, nil, "", nil
			*s = jsonschema.Schema{Description: s.Description, AnyOf: []*jsonschema.Schema{&inner, {Type: "null"}}}
		}
	})
	return s
}

// withoutNull returns the one type of a union with null, or "" if types is none.
func withoutNull(types []string) string {
	if len(types) != 2 || !slices.Contains(types, "null") {
		return ""
	}
	if types[0] == "null" {
		return types[1]
	}
	return types[0]
}

// walk calls f on s and on all that it holds, from the inside out.
func walk(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	for _, p := range s.Properties {
		walk(p, f)
	}
	for _, a := range s.AnyOf {
		walk(a, f)
	}
	walk(s.Items, f)
	walk(s.AdditionalProperties, f)
	f(s)
}

// withTarget returns a copy of s with a required argument for the fleet in front.
func withTarget(s *jsonschema.Schema) *jsonschema.Schema {
	out := *s
	out.Properties = map[string]*jsonschema.Schema{"target": {
		Type: "string", Enum: []any{string(TargetLocal), string(TargetCloud)},
	}}
	for name, p := range s.Properties {
		out.Properties[name] = p
	}
	out.PropertyOrder = append([]string{"target"}, s.PropertyOrder...)
	out.Required = append([]string{"target"}, s.Required...)
	return &out
}

// set changes properties of a schema one after another, in a chain; a property that is not there is a mistake of this package.
type set struct {
	schema *jsonschema.Schema
	filled *[]string // strings that must not be empty; a list of tools has no room to say so of each
}

func (s set) prop(name string) *jsonschema.Schema {
	p := s.schema.Properties[name]
	if p == nil {
		panic("mcpserver: no argument " + name)
	}
	return p
}

// def gives a property its default.
func (s set) def(name string, v any) set {
	data, err := json.Marshal(v)
	if err != nil {
		panic("mcpserver: default of " + name + ": " + err.Error())
	}
	s.prop(name).Default = data
	return s
}

// enum lists all values that a property can have.
func (s set) enum(name string, values ...any) set {
	s.prop(name).Enum = values
	return s
}

// least and most bound a number.
func (s set) least(name string, n float64) set {
	s.prop(name).Minimum = &n
	return s
}

func (s set) most(name string, n float64) set {
	s.prop(name).Maximum = &n
	return s
}

// items changes what a list holds.
func (s set) items(name string) set { return set{schema: s.prop(name).Items} }

// text wants strings that are not empty.
func (s set) text(names ...string) set {
	for _, name := range names {
		s.prop(name)
	}
	*s.filled = append(*s.filled, names...)
	return s
}
