package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// arguments checks what a client sends to one tool, in one mode.
type arguments struct {
	schema *jsonschema.Schema
	filled []string
	// prepared is what the first call makes of the schema: a server starts faster than it could resolve all.
	prepared func() (*prepared, error)
}

type prepared struct {
	resolved *jsonschema.Resolved
	defaults []byte // an object of all defaults
}

func newArguments(s *jsonschema.Schema, filled []string) *arguments {
	return &arguments{schema: s, filled: filled, prepared: sync.OnceValues(func() (*prepared, error) {
		resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
		if err != nil {
			return nil, err
		}
		defaults := map[string]json.RawMessage{}
		for name, p := range s.Properties {
			if p.Default != nil {
				defaults[name] = p.Default
			}
		}
		data, err := json.Marshal(defaults)
		return &prepared{resolved: resolved, defaults: data}, err
	})}
}

// check returns an error that names the argument if raw does not fit the schema.
func (a *arguments) check(raw json.RawMessage) error {
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return fail(CodeInvalid, "the arguments are not a JSON object")
	}
	var unknown, missing []string
	for name := range m {
		if a.schema.Properties[name] == nil {
			unknown = append(unknown, fmt.Sprintf("%q", clip(name, 64)))
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		if len(unknown) > 8 {
			unknown = append(unknown[:8], "...")
		}
		return fail(CodeInvalid, "unknown argument %s", strings.Join(unknown, ", ")).hint("This tool takes: %s.", strings.Join(a.names(), ", "))
	}
	for _, name := range a.schema.Required {
		if _, ok := m[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		e := fail(CodeInvalid, "missing argument %s", strings.Join(missing, ", "))
		if slices.Contains(missing, "target") {
			return e.hint("target says which fleet: local or cloud. Machines of one cannot be seen on the other.")
		}
		return e
	}
	for _, name := range a.filled {
		if m[name] == "" {
			return fail(CodeInvalid, "argument %s is empty", name)
		}
	}
	p, err := a.prepared()
	if err != nil {
		return err
	}
	if err := p.resolved.Validate(m); err != nil {
		return fail(CodeInvalid, "%s", schemaWords(err))
	}
	return nil
}

// names returns the names of the arguments in their order.
func (a *arguments) names() []string {
	if len(a.schema.PropertyOrder) > 0 {
		return a.schema.PropertyOrder
	}
	names := make([]string, 0, len(a.schema.Properties))
	for name := range a.schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// decode fills in, which points to a zero struct, with the defaults and then with raw.
func (a *arguments) decode(raw json.RawMessage, in any) error {
	p, err := a.prepared()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(p.defaults, in); err != nil {
		return fmt.Errorf("defaults: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(in); err != nil {
		var typ *json.UnmarshalTypeError
		if errors.As(err, &typ) {
			return fail(CodeInvalid, "argument %s: %s does not fit", typ.Field, typ.Value)
		}
		return fail(CodeInvalid, "the arguments cannot be read: %v", err)
	}
	return nil
}

// schemaWords returns what the validator found, without the path that it took. The value is left out where it could be long.
func schemaWords(err error) string {
	s := err.Error()
	s = strings.TrimPrefix(s, "validating root: ")
	s = strings.ReplaceAll(s, "validating /properties/", "argument ")
	s = strings.ReplaceAll(s, "/properties/", ".")
	return clip(s, 400)
}

// clip cuts s after n bytes, at a character, and says so.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}
