package mcpserver

import (
	"encoding/json"
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
		return fail(CodeInvalid, "unknown argument %s", strings.Join(unknown, ", ")).hint("This tool takes: %s.", strings.Join(propertyNames(a.schema), ", "))
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
		return a.misfit(raw)
	}
	return nil
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
	if err := json.Unmarshal(raw, in); err != nil {
		return a.misfit(raw) // a number that is whole but not written so, or too large
	}
	return nil
}

// misfit returns the error of arguments that do not fit.
func (a *arguments) misfit(raw json.RawMessage) error {
	if text := misfit(a.schema, raw); text != "" {
		return fail(CodeInvalid, "%s", text)
	}
	return fail(CodeInvalid, "the arguments do not fit").hint("The schema of this tool says what does.")
}

// clip cuts s after n bytes, at a character, and says so.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}
