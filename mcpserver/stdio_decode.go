package mcpserver

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxOrdinary is the size in bytes from which on it makes no difference what buffers the SDK takes.
	maxOrdinary = 64 << 10
	// maxDepth is how deep the decoder of the SDK follows objects and lists.
	maxDepth = 1000
)

// ordinary returns the request that data is and its id as it came, or nil if data has anything in it that clients do not send every day: an answer, an
// escape, a name that is unknown or there twice. What it knows it reads as jsonrpc.DecodeMessage does, which allocates 64 KiB for each message and takes
// four times as long.
func ordinary(data []byte) (*jsonrpc.Request, json.RawMessage) {
	if len(data) > maxOrdinary || bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("[")) > maxDepth {
		return nil, nil
	}
	m := members(data)
	method, ok := plainString(m["method"])
	if !ok || string(m["jsonrpc"]) != `"2.0"` {
		return nil, nil
	}
	req := &jsonrpc.Request{Method: method, Params: m["params"]}
	if req.Params != nil && req.Params[0] != '{' {
		return nil, nil
	}
	id := m["id"]
	if id != nil {
		if req.ID, ok = plainID(id); !ok {
			return nil, nil
		}
	}
	return req, id
}

// members returns the members of the object that data is, or nil if it is none of a request, each once.
func members(data []byte) map[string]json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	m := make(map[string]json.RawMessage, 4)
	for dec.More() {
		t, err := dec.Token()
		name, _ := t.(string)
		if _, twice := m[name]; err != nil || twice {
			return nil
		}
		switch name {
		case "jsonrpc", "id", "method", "params":
		default:
			return nil
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil
		}
		m[name] = value
	}
	if t, err := dec.Token(); err != nil || t != json.Delim('}') {
		return nil
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil
	}
	return m
}

// plainString returns the string whose JSON is raw, if it has no escapes and is ASCII.
func plainString(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	raw = raw[1 : len(raw)-1]
	for _, c := range raw {
		if c == '\\' || c >= 0x80 {
			return "", false
		}
	}
	return string(raw), true
}

// plainID returns the id whose JSON is raw, if it is one that is valid and plain.
func plainID(raw []byte) (jsonrpc.ID, bool) {
	if !validID(raw) {
		return jsonrpc.ID{}, false
	}
	var v any
	if s, ok := plainString(raw); ok {
		v = s
	} else if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		v = float64(n)
	} else {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.MakeID(v)
	return id, err == nil
}
