package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
)

// holding returns a server of a fleet that answers when the test wants it to.
func holding(t *testing.T, targets string) (*server, *held) {
	t.Helper()
	h := newHeld()
	return serve(t, func(o *mcpserver.Options) {
		o.Config.Targets = targets
		o.Local = mcpserver.FixedFleet(smol.NewFleet(h))
		o.Cloud = o.Local
	}), h
}

// TestHostileLines sends what is no request. Each gets one error, and the server goes on.
func TestHostileLines(t *testing.T) {
	t.Parallel()
	s, _ := holding(t, "local")
	c := over(t, s.Server, true)
	c.initialize("2025-06-18", "{}")
	tests := []struct {
		line, id string
		code     int
	}{
		{"junk", "null", -32700},
		{strings.Repeat("x", 1<<20), "null", -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, "null", -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`, "null", -32700},
		{strings.Repeat("[", 1<<20), "null", -32700},
		{strings.Repeat(`{"a":`, 1<<18), "null", -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + "}", "null", -32700},
		{"\x00\x01\x02", "null", -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("x", 1<<20), "null", -32700},
		{"5", "null", -32600},
		{"null", "null", -32600},
		{`"text"`, "null", -32600},
		{"[]", "null", -32600},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "null", -32600},
		{"{}", "null", -32600},
		{`{"jsonrpc":"1.0","id":5,"method":"ping"}`, "5", -32600},
		{`{"id":"a","method":"ping"}`, `"a"`, -32600},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":6,"method":5}`, "6", -32600},
		{`{"jsonrpc":"2.0","id":7,"method":"no/such"}`, "7", -32601},
		{`{"jsonrpc":"2.0","id":8,"method":""}`, "8", -32601},
		{`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"no-such"}}`, "9", -32602},
		{`{"jsonrpc":"2.0","id":10,"method":"tools/call","params":[1]}`, "10", -32602},
		{strings.Repeat("y", 17<<20), "null", -32600},
	}
	for i, tt := range tests {
		c.send("%s", tt.line)
		m := c.reply()
		if m.Error == nil || m.Error.Code != tt.code || string(m.ID) != tt.id {
			t.Errorf("%d %.80q: %.300s", i, tt.line, m.line)
		}
	}
	for _, silent := range []string{"", " \t", `{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","method":"no/such"}`} {
		c.send("%s", silent)
	}
	c.send("\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":11,"method":"ping"}` + "\r")
	if m := c.reply(); string(m.ID) != "11" || m.Error != nil {
		t.Errorf("the server is not well: %s", m.line)
	}
	c.in.Close()
	c.ended()
}

// TestPlainAnswers holds that what a program prints arrives as it is, also what looks like an escape.
func TestPlainAnswers(t *testing.T) {
	t.Parallel()
	s, _ := holding(t, "local")
	c := over(t, s.Server, true)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if m := c.reply(); m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("before initialize: %s", m.line)
	}
	c.initialize("2025-06-18", "{}")
	const odd = `a<b>&\u003c\\u003c\"é`
	name, err := json.Marshal(odd)
	if err != nil {
		t.Fatal(err)
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%s}}`, name)
	m := c.reply()
	if want := fmt.Sprintf("unknown tool %q", odd); m.Error == nil || m.Error.Message != want || !strings.Contains(m.line, "a<b>&") {
		t.Errorf("got %s, not %s", m.line, want)
	}
	c.in.Close()
	c.ended()
}

// TestPipelined sends a great many calls before it reads anything. Each is answered once.
func TestPipelined(t *testing.T) {
	t.Parallel()
	s, _ := holding(t, "local")
	c := over(t, s.Server, true)
	c.initialize("2025-06-18", "{}")
	n := min(10_000, rounds.N(1000))
	kinds := []string{
		`"method":"ping"`, `"method":"no/such"`, `"method":"tools/call","params":{"name":"no-such"}`,
		`"method":"tools/call","params":{"name":"get-machine","arguments":{"name":5}}`, `"method":"resources/read","params":{"uri":"smol://x"}`,
	}
	for i := range n {
		c.send(`{"jsonrpc":"2.0","id":%d,%s}`, i, kinds[i%len(kinds)])
	}
	seen := map[string]bool{}
	for range n {
		m := c.reply()
		if seen[string(m.ID)] {
			t.Fatalf("a second answer: %s", m.line)
		}
		seen[string(m.ID)] = true
	}
	for i := range n {
		if !seen[fmt.Sprint(i)] {
			t.Fatalf("call %d has no answer", i)
		}
	}
	c.in.Close()
	c.ended()
}

// TestTooManyCalls sends calls that take their time. What is too much is refused at once, and the others are answered in the end.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	s, h := holding(t, "local")
	c := over(t, s.Server, true)
	c.initialize("2025-06-18", "{}")
	const calls, fit = 600, 128 + 256
	for i := range calls {
		c.call(fmt.Sprint(i))
	}
	for range calls - fit {
		if m := c.reply(); !strings.Contains(m.line, "RATE_LIMITED: ") {
			t.Fatalf("got %s", m.line)
		}
	}
	close(h.free)
	good := 0
	for good < fit {
		if m := c.reply(); strings.Contains(m.line, `"name":"box"`) {
			good++
		}
	}
	c.in.Close()
	c.ended()
}

func TestDuplicateID(t *testing.T) {
	t.Parallel()
	s, h := holding(t, "local")
	c := over(t, s.Server, true)
	c.initialize("2025-06-18", "{}")
	c.call("7")
	<-h.asked
	c.call("7")
	if m := c.reply(); m.Error == nil || m.Error.Code != -32600 || string(m.ID) != "null" || !strings.Contains(m.Error.Message, "7") {
		t.Errorf("a call with the id of another: %s", m.line)
	}
	close(h.free)
	if m := c.reply(); string(m.ID) != "7" || m.Error != nil {
		t.Errorf("the first call: %s", m.line)
	}
	c.call("7")
	if m := c.reply(); string(m.ID) != "7" || m.Error != nil {
		t.Errorf("the id, used again: %s", m.line)
	}
	c.in.Close()
	c.ended()
}

// TestBatches sends batches where the protocol knows them.
func TestBatches(t *testing.T) {
	t.Parallel()
	s, h := holding(t, "local")
	close(h.free)
	c := over(t, s.Server, true)
	c.initialize("2025-03-26", "{}")
	c.send(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"no/such"},5,{"jsonrpc":"2.0","id":2,"method":"no/such"},` +
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get-machine","arguments":{"name":"box"}}}]`)
	var all []reply
	if line := <-c.lines; json.Unmarshal([]byte(line), &all) != nil || len(all) != 4 {
		t.Fatalf("the answers are %s", line)
	}
	ids := map[string]bool{}
	for _, m := range all {
		ids[string(m.ID)] = m.Error == nil
	}
	if got, want := fmt.Sprint(ids), fmt.Sprint(map[string]bool{"1": true, "2": false, "3": true, "null": false}); got != want {
		t.Errorf("answers %s, not %s", got, want)
	}
	c.send(`[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]`)
	c.send(`[%s]`, strings.TrimSuffix(strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"},`, 101), ","))
	if m := c.reply(); m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("a batch that is too large: %s", m.line)
	}
	c.in.Close()
	c.ended()
}
