package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// linker is a result that names resources.
type linker interface {
	links(c *call) []*mcp.ResourceLink
}

// success returns a result: the same JSON as structured content and as text, because some clients show only the one and some only the
// other.
func success(c *call, out any) (*mcp.CallToolResult, error) {
	data, err := encode(out)
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	res := &mcp.CallToolResult{StructuredContent: json.RawMessage(data), Content: []mcp.Content{&mcp.TextContent{Text: string(data)}}}
	if l, ok := out.(linker); ok {
		for _, link := range l.links(c) {
			res.Content = append(res.Content, link)
		}
	}
	return res, nil
}

// failure returns a result that is an error, and nothing but its text.
func failure(e *ToolError) *mcp.CallToolResult {
	if len(e.Message) > maxText { // it repeats an argument, and the client has that
		short := *e
		short.Message = clip(e.Message, maxText)
		e = &short
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: e.Error()}}}
}

// encode returns v in JSON, on one line, with '<', '>' and '&' as they are: output of programs is full of them.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
