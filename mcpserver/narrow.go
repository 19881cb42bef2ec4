package mcpserver

import (
	"context"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// statelessSince is the first version of the protocol in which a list of tools must not depend on the connection.
const statelessSince = "2026-07-28"

// elicitBound is how long a client may take to say which fleet a session is for.
const elicitBound = 60 * time.Second

// narrowing is the choice of a fleet for a whole session.
type narrowing struct {
	mu     sync.Mutex
	asked  chan struct{} // closed once the client has been asked and has answered, or has not
	target Target        // the answer; empty: both
}

// narrowed returns the fleet that the session is for, or "" for any.
func (ss *session) narrowed() Target {
	ss.narrowing.mu.Lock()
	defer ss.narrowing.mu.Unlock()
	return ss.narrowing.target
}

// narrow asks the client once which fleet its session is for, if it can be asked. First is true for the call that asked and for those
// that came while it did: they obey the answer whatever fleet they name. Everything but a clear answer leaves the session as it is.
func (s *Server) narrow(ctx context.Context, ss *session, req *mcp.CallToolRequest) (first bool) {
	if !s.both() || req.ProtocolVersion() >= statelessSince {
		return false
	}
	caps := req.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil {
		return false
	}
	n := &ss.narrowing
	n.mu.Lock()
	asked, ask := n.asked, n.asked == nil
	if ask {
		asked = make(chan struct{})
		n.asked = asked
	}
	n.mu.Unlock()
	if ask {
		// The question belongs to the session, not to the call: others wait for its answer, and it is not asked again.
		go func() {
			defer close(asked)
			s.ask(ss)
		}()
	}
	select {
	case <-asked:
		return ask
	default:
	}
	select {
	case <-asked:
	case <-ctx.Done():
	}
	return true
}

// ask asks the client of ss which fleet its session is for.
func (s *Server) ask(ss *session) {
	ctx, cancel := context.WithTimeout(ss.ended, elicitBound)
	defer cancel()
	res, err := ss.conn.Elicit(ctx, &mcp.ElicitParams{
		Message: "Which fleet is this session for? local: machines on this host, free. cloud: machines in the smol cloud, billed while they exist.",
		RequestedSchema: &jsonschema.Schema{
			Type: "object", Required: []string{"target"},
			Properties: map[string]*jsonschema.Schema{"target": {
				Type: "string", Title: "Fleet", Enum: []any{string(TargetLocal), string(TargetCloud), "both"},
			}},
		},
	})
	if err != nil {
		s.log.Info("the client did not choose a fleet", "session", ss.id, "error", err)
		return
	}
	answer, _ := res.Content["target"].(string)
	t := Target(answer)
	if res.Action != "accept" || t != TargetLocal && t != TargetCloud {
		return
	}
	ss.narrowing.mu.Lock()
	ss.narrowing.target = t
	ss.narrowing.mu.Unlock()
	s.toolsChanged(ctx, ss)
}

// toolsChanged tells one client that its list of tools is another one.
func (s *Server) toolsChanged(ctx context.Context, ss *session) {
	req := &mcp.ServerRequest[*mcp.ToolListChangedParams]{Session: ss.conn, Params: &mcp.ToolListChangedParams{}}
	if _, err := s.notify(ctx, "notifications/tools/list_changed", req); err != nil {
		s.log.Warn("notification", "session", ss.id, "error", err)
	}
}

// catchSender is a sending middleware that does nothing but remember how to send to one session only: the SDK tells all.
func (s *Server) catchSender(next mcp.MethodHandler) mcp.MethodHandler {
	s.notify = next
	return next
}

// narrowList returns the list of tools as ss sees it. The list of the server is shared and is not written.
func (s *Server) narrowList(ss *session, res *mcp.ListToolsResult) *mcp.ListToolsResult {
	if ss.narrowed() == "" {
		return res
	}
	out := *res
	out.Tools = make([]*mcp.Tool, len(res.Tools))
	for i, t := range res.Tools {
		out.Tools[i] = t
		if d := s.tools[t.Name]; d != nil {
			out.Tools[i] = d.tool(false)
		}
	}
	out.CacheScope = "private"
	return &out
}
