package mcpserver

import (
	"context"

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
}

func (s *Server) readTargets(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	data, err := encode(struct {
		Targets []targetFacts `json:"targets"`
	}{s.facts(ctx)})
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: string(data)}}}, nil
}
