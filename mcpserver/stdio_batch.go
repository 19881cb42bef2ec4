package mcpserver

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// batchesUntil is the first version of the protocol without batches.
	batchesUntil = "2025-06-18"
	// maxBatch is the most messages of a batch.
	maxBatch = 100
)

// batch is messages that came in one array, whose answers go out in one.
type batch struct {
	open  int // calls without an answer, and one more while it is read
	parts [][]byte
}

// takeBatch takes an array of messages. Each has its own answer in the array that goes back; the array as a whole is refused where
// the protocol does not know it.
func (c *lines) takeBatch(line []byte) {
	var all []json.RawMessage
	c.mu.Lock()
	version := c.version
	c.mu.Unlock()
	err := json.Unmarshal(line, &all)
	switch {
	case err != nil:
		c.refuse(nil, jsonrpc.CodeParseError, "parse error: "+err.Error())
		return
	case version == "" || version >= batchesUntil:
		c.refuse(nil, jsonrpc.CodeInvalidRequest, "this version of the protocol has no batches")
		return
	case len(all) == 0 || len(all) > maxBatch:
		c.refuse(nil, jsonrpc.CodeInvalidRequest, "a batch has at least one message and at most 100")
		return
	}
	b := &batch{open: 1}
	for _, data := range all {
		c.takeOne(data, b)
	}
	c.mu.Lock()
	b.open--
	data := b.whole()
	c.mu.Unlock()
	if data != nil {
		// That nobody reads is found out at the next answer.
		_ = c.out.write(data)
	}
}

// whole returns the array of all answers once they are there; nil before, and if there are none.
func (b *batch) whole() []byte {
	if b.open > 0 || len(b.parts) == 0 {
		return nil
	}
	return append(append([]byte("["), bytes.Join(b.parts, []byte(","))...), ']')
}
