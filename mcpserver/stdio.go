package mcpserver

import (
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stdio returns the transport of one client over a pair of streams, one message a line. The streams are closed by whoever opened them.
func Stdio(r io.Reader, w io.Writer) mcp.Transport {
	return &mcp.IOTransport{Reader: io.NopCloser(r), Writer: nopCloser{w}}
}

type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }
