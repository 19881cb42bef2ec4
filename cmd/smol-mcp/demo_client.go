package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// args are the arguments of a tool.
type args = map[string]any

// outcome is what the demo looks at of the results of all tools.
type outcome struct {
	Machine struct {
		Name string `json:"name"`
	} `json:"machine"`
	Size         int64  `json:"size"`
	Content      string `json:"content"`
	Stdout       string `json:"stdout"`
	Stderr       string `json:"stderr"`
	StdoutOffset int64  `json:"stdoutOffset"`
	StderrOffset int64  `json:"stderrOffset"`
	ExitCode     *int   `json:"exitCode"`
	DurationMS   int64  `json:"durationMs"`
	Running      bool   `json:"running"`
	Job          string `json:"job"`
}

// client is a client of the protocol that counts its calls.
type client struct {
	session *mcp.ClientSession
	calls   int
}

// toolError is the failure of a tool, as the agent reads it.
type toolError struct{ tool, text string }

// Error returns the tool and its words.
func (e *toolError) Error() string { return e.tool + ": " + e.text }

// code returns the word that the text begins with.
func (e *toolError) code() string {
	code, _, _ := strings.Cut(e.text, ":")
	return code
}

// call calls a tool.
func (c *client) call(ctx context.Context, tool string, a args) (*outcome, error) {
	c.calls++
	res, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tool, err)
	}
	if len(res.Content) == 0 {
		return nil, errors.New(tool + ": the result is empty")
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return nil, errors.New(tool + ": the result has no text")
	}
	if res.IsError {
		return nil, &toolError{tool, text.Text}
	}
	out := &outcome{}
	if err := json.Unmarshal([]byte(text.Text), out); err != nil {
		return nil, fmt.Errorf("%s: the result is no JSON: %w", tool, err)
	}
	return out, nil
}
