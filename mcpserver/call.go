package mcpserver

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/smol"
)

// call is one call of a tool.
type call struct {
	server  *Server
	session *session
	request *mcp.CallToolRequest
	// target is the fleet that the call goes to.
	target Target
	// fleet is that fleet.
	fleet *smol.Fleet
}

// config returns the server's configuration.
func (c *call) config() *Config { return c.server.config }

// dispatch returns the handler of a tool: it finds the session, the fleet and the arguments, and turns what comes back into a result.
func (s *Server) dispatch(d *definition) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		out, c, err := s.perform(ctx, d, req)
		if err != nil {
			return failure(toToolError(ctx, err)), nil
		}
		return success(c, out)
	}
}

// perform runs a tool. The context ends with the session too.
func (s *Server) perform(ctx context.Context, d *definition, req *mcp.CallToolRequest) (any, *call, error) {
	ss, err := s.session(ctx, req.Session)
	if err != nil {
		return nil, nil, err
	}
	if err := ss.enter(); err != nil {
		return nil, nil, err
	}
	defer ss.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ss.ended, cancel)()
	raw := req.Params.Arguments
	if len(raw) == 0 || string(raw) == "null" { // as some clients send what has none
		raw = json.RawMessage("{}")
	}
	c := &call{server: s, session: ss, request: req}
	args := d.plain
	if s.both() {
		first := s.narrow(ctx, ss, req)
		if c.target = ss.narrowed(); c.target == "" {
			args = d.target
		} else if raw, err = withoutTarget(raw, c.target, first); err != nil {
			return nil, nil, err
		}
	} else {
		c.target = s.targets[0]
	}
	if err := args.check(raw); err != nil {
		return nil, nil, err
	}
	if c.target == "" {
		var in struct {
			Target Target `json:"target"`
		}
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, nil, fail(CodeInvalid, "the arguments cannot be read: %v", err)
		}
		c.target = in.Target
	}
	if c.fleet, err = s.sources[c.target].Fleet(ctx); err != nil {
		return nil, nil, toToolError(ctx, err)
	}
	out, err := d.run(ctx, c, args, raw)
	if err != nil {
		return nil, nil, toToolError(ctx, err) // which knows that the session has ended
	}
	return out, c, nil
}

// withoutTarget takes the fleet out of the arguments of a session that is for one fleet. A client that has not read the new list yet still
// names one: any other fleet than the session's is an error, unless the call is the one that was asked about.
func withoutTarget(raw json.RawMessage, t Target, first bool) (json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return raw, nil // check says what is wrong
	}
	v, ok := m["target"]
	if !ok {
		return raw, nil
	}
	var named Target
	if err := json.Unmarshal(v, &named); (err != nil || named != t) && !first {
		return nil, fail(CodeInvalid, "this session is for the %s fleet only", t).hint("Leave target out.")
	}
	delete(m, "target")
	return json.Marshal(m)
}

// machine returns the machine that an argument names.
func (c *call) machine(name string) *smol.Machine { return c.fleet.Machine(name) }

// info asks the fleet about m.
func (c *call) info(ctx context.Context, m *smol.Machine) (*machineResult, error) {
	info, err := m.Info(ctx)
	if err != nil {
		return nil, err
	}
	res := machineOf(info)
	return &res, nil
}

// isNotFound reports whether err says that there is no such thing.
func isNotFound(err error) bool { return errors.Is(err, smol.ErrNotFound) }
