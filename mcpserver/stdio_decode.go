package mcpserver

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxDepth is how deep the decoder of the SDK follows objects and lists.
const maxDepth = 1000

// ordinary returns the request that data is and its id as it came, or nil if data has anything in it that clients do not send every day: an answer, an
// escape, a name that is unknown or there twice. What it knows it reads as jsonrpc.DecodeMessage does, which takes four times as long and 64 KiB of
// memory. The request keeps data.
func ordinary(data []byte) (*jsonrpc.Request, json.RawMessage) {
	if len(data) == 0 || data[0] != '{' || !json.Valid(data) {
		return nil, nil
	}
	var version, id, method, params []byte
	for at := 1; ; {
		name, next, ok := field(data, at)
		if !ok {
			return nil, nil
		}
		value := data[next.from:next.to]
		var part *[]byte
		switch string(name) {
		case "jsonrpc":
			part = &version
		case "id":
			part = &id
		case "method":
			part = &method
		case "params":
			part = &params
		default:
			return nil, nil
		}
		if *part != nil {
			return nil, nil
		}
		*part = value
		if at = next.to; next.last {
			break
		}
	}
	m, ok := plainString(method)
	if !ok || string(version) != `"2.0"` || params != nil && params[0] != '{' {
		return nil, nil
	}
	req := &jsonrpc.Request{Method: m, Params: params}
	if id != nil {
		if req.ID, ok = plainID(id); !ok {
			return nil, nil
		}
	}
	return req, id
}

// span is where the value of a member is, and whether it is the last one.
type span struct {
	from, to int
	last     bool
}

// field returns the name and the place of the member of an object that begins at or after data[at]. The object is valid JSON; it is not ok if there
// is none, or if it is too deep.
func field(data []byte, at int) (name []byte, s span, ok bool) {
	at = skip(data, at, " \t\r\n,")
	if data[at] != '"' {
		return nil, s, false // an empty object
	}
	end := stringEnd(data, at)
	name = data[at+1 : end-1]
	s.from = skip(data, end, " \t\r\n:")
	if s.to, ok = valueEnd(data, s.from); !ok {
		return nil, s, false
	}
	s.last = data[skip(data, s.to, " \t\r\n")] == '}'
	return name, s, true
}

// skip returns the first place from at on that holds none of chars.
func skip(data []byte, at int, chars string) int {
	for bytes.IndexByte([]byte(chars), data[at]) >= 0 {
		at++
	}
	return at
}

// stringEnd returns the place behind the string that begins at data[at].
func stringEnd(data []byte, at int) int {
	for at++; data[at] != '"'; at++ {
		if data[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// valueEnd returns the place behind the value that begins at data[at], a member of an object.
func valueEnd(data []byte, at int) (end int, ok bool) {
	depth := 1
	for {
		switch c := data[at]; c {
		case '"':
			at = stringEnd(data, at)
			if depth == 1 {
				return at, true
			}
			continue
		case '{', '[':
			if depth++; depth > maxDepth {
				return 0, false
			}
		case '}', ']':
			if depth == 1 {
				return at, true // behind a number or a word, at the end of the object
			}
			if depth--; depth == 1 {
				return at + 1, true
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 1 {
				return at, true // behind a number or a word
			}
		}
		at++
	}
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
