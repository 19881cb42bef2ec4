package serde_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim/serde"
)

type backend string

func (backend) Variants() []string { return []string{"tsi", "virtio-net"} }

type pair struct {
	Name  string `serde:"name"`
	Value string `serde:"value"`
}

type ref struct {
	_       struct{} `serde:",deny"`
	FromEnv *string  `serde:"from_env"`
}

type request struct {
	Command []string       `serde:"command"`
	CPUs    *uint8         `serde:"cpus"`
	Size    *uint64        `serde:"size"`
	Env     []pair         `serde:"env,default"`
	Network bool           `serde:"network,default"`
	Hosts   *[]string      `serde:"hosts"`
	Backend *backend       `serde:"backend"`
	Secrets map[string]ref `serde:"secrets,default"`
	Restart *pair          `serde:"restart"`
}

func ptr[T any](v T) *T { return &v }

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       request
	}{
		{"least", `{"command":[]}`, request{Command: []string{}}},
		{"null for what is optional", `{"command":["a"],"cpus":null,"hosts":null,"restart":null}`, request{Command: []string{"a"}}},
		{"empty is not absent", `{"command":["a"],"hosts":[]}`, request{Command: []string{"a"}, Hosts: &[]string{}}},
		{"largest", `{"command":["a"],"cpus":255,"size":18446744073709551615}`, request{Command: []string{"a"}, CPUs: ptr(uint8(255)), Size: ptr(^uint64(0))}},
		{"all kinds", " {\n\t\"command\" : [ \"\\u00e9\\ud83d\\ude00\\n\" , \"\" ] , \"env\" : [ { \"value\" : \"v\" , \"name\" : \"n\" } ] , \"network\" : true ,\r\n\"backend\" : \"tsi\" , \"secrets\" : { \"K\" : { \"from_env\" : \"E\" } } } ", request{
			Command: []string{"é😀\n", ""}, Env: []pair{{"n", "v"}}, Network: true, Backend: ptr(backend("tsi")), Secrets: map[string]ref{"K": {FromEnv: ptr("E")}},
		}},
		{"unknown names are skipped", `{"x":[1,{"y":[],"z":{"a":-1.5e3}},"s",true,false,null,[[]]],"command":["a"],"w":{}}`, request{Command: []string{"a"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got request
			if err := serde.Decode([]byte(tt.body), &got, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(ref{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The positions are those of the original decoder: bytes read, with the byte at fault counted where it was only looked at.
func TestDecodeErrors(t *testing.T) {
	const syntax, shape = true, false
	for _, tt := range []struct {
		body   string
		syntax bool
		want   string
	}{
		{``, syntax, "EOF while parsing a value at line 1 column 0"},
		{` `, syntax, "EOF while parsing a value at line 1 column 1"},
		{`{`, syntax, "EOF while parsing an object at line 1 column 1"},
		{`{"command":["a"]`, syntax, "EOF while parsing an object at line 1 column 16"},
		{`{"command":["a"`, syntax, "command: EOF while parsing a list at line 1 column 15"},
		{`{"command":["a`, syntax, "command[0]: EOF while parsing a string at line 1 column 14"},
		{`{"command":["a",]}`, syntax, "command: trailing comma at line 1 column 17"},
		{`{"command":["a"],}`, syntax, "trailing comma at line 1 column 18"},
		{`{"command":["a" "b"]}`, syntax, "command: expected `,` or `]` at line 1 column 17"},
		{`{"command":["a"] "b"}`, syntax, "expected `,` or `}` at line 1 column 18"},
		{`{"command" ["a"]}`, syntax, "command: expected `:` at line 1 column 12"},
		{`{"command":}`, syntax, "command: expected value at line 1 column 12"},
		{`{command:[]}`, syntax, "key must be a string at line 1 column 2"},
		{`{"command":["a"],"env":[{name:1}]}`, syntax, "env[0].?: key must be a string at line 1 column 26"},
		{`{"command":["a"]} x`, syntax, "trailing characters at line 1 column 19"},
		{"{\n  \"command\": [\"a\"],\n  \"cpus\": 01\n}", syntax, "cpus: invalid number at line 3 column 12"},
		{`{"cpus":1.}`, syntax, "cpus: invalid number at line 1 column 11"},
		{`{"cpus":-}`, syntax, "cpus: invalid number at line 1 column 10"},
		{`{"cpus":1e}`, syntax, "cpus: invalid number at line 1 column 11"},
		{`{"cpus":1e999}`, syntax, "cpus: number out of range at line 1 column 13"},
		{`{"network":tru}`, syntax, "network: expected ident at line 1 column 15"},
		{`{"network":tr`, syntax, "network: EOF while parsing a value at line 1 column 13"},
		{`{"command":["\x"]}`, syntax, "command[0]: invalid escape at line 1 column 15"},
		{`{"command":["\ud800"]}`, syntax, "command[0]: unexpected end of hex escape at line 1 column 20"},
		{`{"command":["\udc00"]}`, syntax, "command[0]: lone leading surrogate in hex escape at line 1 column 19"},
		{"{\"command\":[\"a\x00\"]}", syntax, "command[0]: control character (\\u0000-\\u001F) found while parsing a string at line 1 column 15"},
		{"{\"command\":[\"\xff\"]}", syntax, "command[0]: invalid unicode code point at line 1 column 15"},
		{`{"x":[1,]}`, syntax, "x: expected value at line 1 column 9"},
		{`{"x":{"a":1,}}`, syntax, "x: key must be a string at line 1 column 13"},
		{`{"x":{"a":[1}}`, syntax, "x: expected `,` or `]` at line 1 column 13"},
		{`{"backend":5}`, syntax, "backend: expected value at line 1 column 12"},
		{`{}`, shape, "missing field `command` at line 1 column 2"},
		{`null`, shape, "invalid type: null, expected struct Request at line 1 column 4"},
		{`"x"`, shape, `invalid type: string "x", expected struct Request at line 1 column 3`},
		{`[]`, shape, "invalid type: sequence, expected struct Request at line 1 column 0"},
		{`{"command":null}`, shape, "command: invalid type: null, expected a sequence at line 1 column 15"},
		{`{"command":"ls"}`, shape, `command: invalid type: string "ls", expected a sequence at line 1 column 15`},
		{`{"command":{}}`, shape, `command: invalid type: map, expected a sequence at line 1 column 11`},
		{`{"command":[1]}`, shape, "command[0]: invalid type: integer `1`, expected a string at line 1 column 13"},
		{`{"command":["a"],"env":null}`, shape, "env: invalid type: null, expected a sequence at line 1 column 27"},
		{`{"command":["a"],"env":{"A":"b"}}`, shape, "env: invalid type: map, expected a sequence at line 1 column 23"},
		{`{"command":["a"],"env":[{"name":"A"}]}`, shape, "env[0]: missing field `value` at line 1 column 36"},
		{`{"network":null}`, shape, "network: invalid type: null, expected a boolean at line 1 column 15"},
		{`{"network":"yes"}`, shape, `network: invalid type: string "yes", expected a boolean at line 1 column 16`},
		{`{"cpus":256}`, shape, "cpus: invalid value: integer `256`, expected u8 at line 1 column 11"},
		{`{"cpus":-1}`, shape, "cpus: invalid value: integer `-1`, expected u8 at line 1 column 10"},
		{`{"cpus":1.5}`, shape, "cpus: invalid type: floating point `1.5`, expected u8 at line 1 column 11"},
		{`{"cpus":1e20}`, shape, "cpus: invalid type: floating point `1e20`, expected u8 at line 1 column 12"},
		{`{"cpus":2.0}`, shape, "cpus: invalid type: floating point `2.0`, expected u8 at line 1 column 11"},
		{`{"cpus":true}`, shape, "cpus: invalid type: boolean `true`, expected u8 at line 1 column 12"},
		{`{"size":18446744073709551616}`, shape, "size: invalid type: floating point `1.8446744073709552e19`, expected u64 at line 1 column 28"},
		{`{"backend":"nat"}`, shape, "backend: unknown variant `nat`, expected `tsi` or `virtio-net` at line 1 column 16"},
		{`{"command":["a"],"command":["b"]}`, shape, "duplicate field `command` at line 1 column 26"},
		{`{"env":[{"name":"a","name":"b"}]}`, shape, "env[0]: duplicate field `name` at line 1 column 26"},
		{`{"secrets":{"K":{"other":1}}}`, shape, "secrets.K.other: unknown field `other`, expected `from_env` at line 1 column 24"},
		{`{"secrets":[]}`, shape, "secrets: invalid type: sequence, expected a map at line 1 column 11"},
	} {
		t.Run(tt.body, func(t *testing.T) {
			var got request
			err := serde.Decode([]byte(tt.body), &got, nil)
			var e *serde.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a serde.Error", err)
			}
			if e.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", e, tt.want)
			}
			if e.Syntax != tt.syntax {
				t.Errorf("syntax is %v, want %v", e.Syntax, tt.syntax)
			}
		})
	}
}

func TestDecodeDeniesUnknown(t *testing.T) {
	type create struct {
		Name    *string `serde:"name"`
		Image   *string `serde:"image"`
		Network bool    `serde:"network,default"`
	}
	// With the spaces that a Python client writes, and a name of six letters, this is the measured example of the contract.
	body := `{"name": "mach-1", "image": "alpine", "network": true, "memory": 1024}`
	var got create
	err := serde.Decode([]byte(body), &got, &serde.Options{DenyUnknown: true})
	want := "memory: unknown field `memory`, expected one of `name`, `image`, `network` at line 1 column 63"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if err := serde.Decode([]byte(body), &got, nil); err != nil {
		t.Errorf("not denied: %v", err)
	}
}

func TestDecodeDepth(t *testing.T) {
	deep := `{"command":["a"],"x":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `}`
	var got request
	if err := serde.Decode([]byte(deep), &got, nil); err != nil {
		t.Errorf("a skipped value may be of any depth: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"command":["a"]}`, `{"x":[{"y":1}],"command":[]}`, `{"secrets":{"a":{}}}`, "{\"command\":[\"\\ud83d\\ude00\"]}", `[[[`, `{"cpus":1e5}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var got request
		err := serde.Decode(body, &got, nil)
		if err == nil && !json.Valid(body) {
			t.Errorf("accepted %q, which is not JSON", body)
		}
		var e *serde.Error
		if errors.As(err, &e) && (e.Line < 1 || e.Column < 0 || e.Column > len(body)) {
			t.Errorf("%q: impossible position in %v", body, e)
		}
	})
}
