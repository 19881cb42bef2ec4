package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// targetsURI is the resource that says what each fleet can do.
const targetsURI = "smol://targets"

// registerResources adds what clients can read.
func (s *Server) registerResources() {
	s.mcp.AddResource(&mcp.Resource{
		URI: targetsURI, Name: "targets", Title: "Fleets", MIMEType: "application/json",
		Description: "Which fleets are served, whether each can be used now, and what it cannot do.",
	}, s.readTargets)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: "smol://machine/{target}/{name}/logs", Name: "logs", Title: "Machine logs", MIMEType: "text/plain",
		Description: "The newest lines of a machine's console, as many as machine-logs gives. Can be subscribed to: updated when there is more.",
	}, s.resource(s.readLogs))
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: "smol://machine/{target}/{name}/file{+path}", Name: "file", Title: "File of a machine", MIMEType: "application/octet-stream",
		Description: "A file by its absolute path, percent-encoded, of at most " + bytesText(maxPage) + ": as text if it is UTF-8, else as a blob. For pages of a larger one use read-file.",
	}, s.resource(s.readMachineFile))
}

func (s *Server) readTargets(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	data, err := encode(struct {
		Targets []targetFacts `json:"targets"`
	}{s.facts(ctx)})
	if err != nil {
		return nil, err
	}
	return contents(&mcp.ResourceContents{URI: req.Params.URI, MIMEType: "application/json", Text: string(data)}), nil
}

func contents(c *mcp.ResourceContents) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}
}

// resource returns the handler of the resources of machines. The context of read ends with the session too.
func (s *Server) resource(read func(context.Context, *machineURI) (*mcp.ResourceContents, error)) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		ss, err := s.session(ctx, req.Session)
		if err != nil {
			return nil, protocolError(ctx, err)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(ss.ended, cancel)()
		u, err := s.parseURI(ctx, ss, req.Params.URI)
		if err != nil {
			return nil, protocolError(ctx, err)
		}
		c, err := read(ctx, u)
		if err != nil {
			return nil, protocolError(ctx, err)
		}
		return contents(c), nil
	}
}

// protocolError returns err as requests that are no calls of tools fail: with a number, and in the text what a tool would have said.
func protocolError(ctx context.Context, err error) error {
	e := toToolError(ctx, err)
	code := int64(jsonrpc.CodeInternalError)
	if e.Code == CodeNotFound || e.Code == CodeInvalid {
		code = jsonrpc.CodeInvalidParams // the protocol has no other number for what is not there
	}
	return &jsonrpc.Error{Code: code, Message: e.Error()}
}
