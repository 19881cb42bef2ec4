package mcpserver

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// readLogs returns the newest lines of a console.
func (s *Server) readLogs(ctx context.Context, u *machineURI) (*mcp.ResourceContents, error) {
	lines, _, err := logLines(ctx, u.machine, s.config.LogsTail)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return &mcp.ResourceContents{URI: u.uri, MIMEType: "text/plain", Text: b.String()}, nil
}

// readMachineFile returns a whole file, as text where that is what it holds.
func (s *Server) readMachineFile(ctx context.Context, u *machineURI) (*mcp.ResourceContents, error) {
	data, err := readRange(ctx, u.machine, u.path, 0, maxPage+1)
	if err != nil {
		return nil, err
	}
	if len(data) > maxPage {
		return nil, fail(CodeInvalid, "%s is larger than the %s of a resource", u.path, bytesText(maxPage)).hint("read-file reads it in pages.")
	}
	out := &mcp.ResourceContents{URI: u.uri}
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		out.MIMEType, out.Text = "text/plain", string(data)
	} else {
		out.MIMEType, out.Blob = "application/octet-stream", data
	}
	return out, nil
}
