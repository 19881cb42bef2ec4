package mcpserver

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolsetNames are the groups of tools.
var toolsetNames = []string{"core", "jobs"}

// about is what a client is told of a tool, besides its schemas.
type about struct {
	name, title, toolset, description string
	hints                             hints
}

// hints are the four annotations. All are told, because their defaults are the worst.
type hints struct{ readOnly, destructive, idempotent, openWorld bool }

// definition is a tool.
type definition struct {
	about
	in, out *jsonschema.Schema
	filled  []string // arguments that must not be empty
	// run does the work; args have been checked against in.
	run func(ctx context.Context, c *call, a *arguments, args json.RawMessage) (any, error)

	plain  *arguments // of in
	target *arguments // of in with the argument for the fleet
}

// define returns the tool whose work is f. The schema of its arguments is that of In, which adjust then completes with enums, bounds and
// defaults; adjust may be nil.
func define[In, Out any](a about, adjust func(set), f func(context.Context, *call, In) (*Out, error)) *definition {
	d := &definition{about: a, in: inputSchema[In](), out: outputSchema[Out]()}
	if adjust != nil {
		adjust(set{d.in, &d.filled})
	}
	d.run = func(ctx context.Context, c *call, args *arguments, raw json.RawMessage) (any, error) {
		var in In
		if err := args.decode(raw, &in); err != nil {
			return nil, err
		}
		return f(ctx, c, in)
	}
	return d
}

// tool returns what tools/list says of d.
func (d *definition) tool(withTarget bool) *mcp.Tool {
	in := d.plain.schema
	if withTarget {
		in = d.target.schema
	}
	return &mcp.Tool{
		Name: d.name, Title: d.title, Description: d.description, InputSchema: in, OutputSchema: d.out,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: d.hints.readOnly, IdempotentHint: d.hints.idempotent,
			DestructiveHint: &d.hints.destructive, OpenWorldHint: &d.hints.openWorld,
		},
	}
}

// listed returns the tools that the configuration asks for.
func listed(c *Config) []*definition {
	var out []*definition
	for _, d := range definitions(c) {
		if !slices.Contains(c.Toolsets, d.toolset) || c.ReadOnly && !d.hints.readOnly {
			continue
		}
		d.plain, d.target = newArguments(d.in, d.filled), newArguments(withTarget(d.in), d.filled)
		out = append(out, d)
	}
	return out
}
