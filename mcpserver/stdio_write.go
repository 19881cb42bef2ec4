package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// encodeMessage returns msg in JSON, on one line. A result is put between its braces as it is: the SDK has encoded it before, and would check and copy
// it once more.
func encodeMessage(msg jsonrpc.Message) ([]byte, error) {
	m, ok := msg.(*jsonrpc.Response)
	if !ok || m.Error != nil || len(m.Result) == 0 {
		data, err := jsonrpc.EncodeMessage(msg)
		return plainJSON(data), err
	}
	id, err := encode(m.ID.Raw())
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, len(m.Result)+len(id)+40)
	data = append(append(data, `{"jsonrpc":"2.0","id":`...), id...)
	data = append(append(data, `,"result":`...), m.Result...)
	return plainJSON(append(data, '}')), nil
}

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

// coded gives an error without a code one: the SDK leaves it out where a request comes at the wrong time.
func coded(err error) error {
	var e *jsonrpc.Error
	if errors.As(err, &e) && e.Code != 0 {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
}

// plainJSON returns data with '<', '>' and '&' as they are, of which output of programs is full and which the SDK writes in six bytes.
func plainJSON(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\u00`)) {
		return data
	}
	out := data[:0]
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			out = append(out, data[i])
			continue
		}
		// What follows a backslash belongs to it; it may be another one.
		if c, ok := htmlEscapes[string(data[i:min(i+6, len(data))])]; ok {
			out = append(out, c)
			i += 5
			continue
		}
		out = append(out, data[i], data[i+1])
		i++
	}
	return out
}

var htmlEscapes = map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}

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
