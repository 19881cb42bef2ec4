package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// misfit says what of raw does not fit the schema: the argument by its path, what it must be, and what it is. The validator decides whether
// something fits, but its words are about schemas and Go, and repeat values of any length. It returns "" if it finds nothing.
func misfit(s *jsonschema.Schema, raw json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var all map[string]any
	if err := dec.Decode(&all); err != nil {
		return ""
	}
	return misfitOfObject("", s, all)
}

func misfitOf(path string, s *jsonschema.Schema, v any) string {
	for _, alternative := range s.AnyOf {
		if list, ok := v.([]any); ok && len(list) > 0 && alternative.Type == "array" {
			return misfitOf(path, alternative, v) // it says which item
		}
	}
	if !fits(s, v) {
		text := path + ": must be " + wanted(s) + ", got " + shown(v)
		if v == nil {
			text += "; leave it out instead"
		}
		return text
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if s.Items == nil {
				break
			}
			if text := misfitOf(path+"["+strconv.Itoa(i)+"]", s.Items, item); text != "" {
				return text
			}
		}
	case map[string]any:
		return misfitOfObject(path, s, v)
	}
	return ""
}

// misfitOfObject looks at what an object holds. The arguments themselves have no path.
func misfitOfObject(path string, s *jsonschema.Schema, v map[string]any) string {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			return join(path, name) + ": missing; it must be " + wanted(s.Properties[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		p, at := s.Properties[name], join(path, name)
		switch {
		case p == nil && s.Properties != nil:
			return fmt.Sprintf("%s[%q]: unknown; there are %s", path, clip(name, 64), strings.Join(propertyNames(s), ", "))
		case p == nil:
			p, at = s.AdditionalProperties, fmt.Sprintf("%s[%q]", path, clip(name, 64))
		}
		if p == nil {
			continue
		}
		if text := misfitOf(at, p, v[name]); text != "" {
			return text
		}
	}
	return ""
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// fits reports whether v is of the type, the values and the range of s, whatever it holds.
func fits(s *jsonschema.Schema, v any) bool {
	if len(s.AnyOf) > 0 {
		return slices.ContainsFunc(s.AnyOf, func(a *jsonschema.Schema) bool { return fits(a, v) })
	}
	if s.Enum != nil && !slices.Contains(s.Enum, v) {
		return false
	}
	switch v := v.(type) {
	case string:
		return s.Type == "string"
	case bool:
		return s.Type == "boolean"
	case []any:
		return s.Type == "array" && (s.MinItems == nil || len(v) >= *s.MinItems)
	case map[string]any:
		return s.Type == "object"
	case json.Number:
		n, err := strconv.Atoi(v.String()) // as it is read, which leaves out 1.0 and 1e3
		return s.Type == "integer" && err == nil && (s.Minimum == nil || float64(n) >= *s.Minimum) && (s.Maximum == nil || float64(n) <= *s.Maximum)
	default:
		return false
	}
}

// wanted says what fits s.
func wanted(s *jsonschema.Schema) string {
	switch {
	case s.Enum != nil:
		words := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			words[i] = fmt.Sprintf("%q", v)
		}
		return "one of " + strings.Join(words, ", ")
	case len(s.AnyOf) > 0:
		words := make([]string, len(s.AnyOf))
		for i, a := range s.AnyOf {
			words[i] = wanted(a)
		}
		return strings.Join(words, " or ")
	}
	switch s.Type {
	case "integer":
		return "a whole number" + between(s)
	case "boolean":
		return "true or false"
	case "array":
		text := "a list of " + map[string]string{"string": "strings", "object": "objects"}[s.Items.Type]
		if s.MinItems != nil {
			text += " that is not empty"
		}
		return text
	case "object":
		if s.AdditionalProperties != nil && s.Properties == nil {
			return "an object whose values are strings"
		}
		return "an object with " + strings.Join(propertyNames(s), ", ")
	default:
		return "a string"
	}
}

func between(s *jsonschema.Schema) string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf(" from %.0f to %.0f", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		return fmt.Sprintf(", %.0f or more", *s.Minimum)
	case s.Maximum != nil:
		return fmt.Sprintf(", %.0f or less", *s.Maximum)
	default:
		return ""
	}
}

// shown returns v if it is short, and else what it is.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(clip(v, 40))
	case []any:
		if len(v) == 0 {
			return "an empty list"
		}
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return clip(fmt.Sprint(v), 40) // a number or a truth value
	}
}

// propertyNames returns the names of what an object can hold, in their order.
func propertyNames(s *jsonschema.Schema) []string {
	if len(s.PropertyOrder) > 0 {
		return s.PropertyOrder
	}
	return slices.Sorted(maps.Keys(s.Properties))
}
