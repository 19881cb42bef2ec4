package mcpserver

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// answer writes the answer to a call, or keeps it until those of its whole batch are there.
func (c *lines) answer(m *jsonrpc.Response, data []byte) error {
	c.mu.Lock()
	p := c.pending[m.ID]
	// The client can use the id again as soon as it has the answer.
	delete(c.pending, m.ID)
	if p != nil {
		c.bytes -= p.bytes
		switch p.method {
		case methodListen:
			c.listens--
		case methodInitialize:
			c.version = agreed(m)
		}
		if p.batch != nil {
			p.batch.open--
			p.batch.parts = append(p.batch.parts, data)
			data = p.batch.whole()
		}
	}
	c.answers++
	c.mu.Unlock()
	defer c.changed.Broadcast()
	defer func() {
		c.mu.Lock()
		c.answers--
		c.mu.Unlock()
	}()
	if data == nil {
		return nil
	}
	return c.out.write(data)
}

// agreed returns the version of the protocol that an answer to initialize names.
func agreed(m *jsonrpc.Response) string {
	var res struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(m.Result, &res) // an error has no result
	return res.ProtocolVersion
}

// refuse answers what is no message.
func (c *lines) refuse(b *batch, code int, text string) { c.refuseID(b, nil, code, text) }

func (c *lines) refuseID(b *batch, id json.RawMessage, code int, text string) {
	var e struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}
	e.Version, e.ID, e.Error = "2.0", id, jsonrpc.Error{Code: int64(code), Message: clip(text, 400)}
	if len(id) == 0 {
		e.ID = json.RawMessage("null")
	}
	data, err := encode(e)
	if err != nil {
		return // of two strings and what was read as JSON: cannot fail
	}
	if b != nil {
		c.mu.Lock()
		b.parts = append(b.parts, data)
		c.mu.Unlock()
		return
	}
	// That nobody reads is found out at the next answer.
	_ = c.out.write(data)
}
