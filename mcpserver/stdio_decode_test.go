package mcpserver_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/smol-machines/smol-go/mcpserver"
)

// dailyMessages are what clients send all the time.
var dailyMessages = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get-machine","arguments":{"name":"box"}}}`,
	`{ "method" : "tools/call", "params" : {"a":"\"}{\\", "b":[1,{"c":null}]} , "id" : "x-1", "jsonrpc" : "2.0" }`,
	"{\t\"jsonrpc\":\"2.0\",\r\n\"id\":-12 ,\"method\":\"ping\"\n}",
	`{"id":9007199254740992,"jsonrpc":"2.0","method":""}`,
	`{"method":"ping","jsonrpc":"2.0","id":0}`,
	`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	`{"jsonrpc":"2.0","id":"","method":"tools/list","params":{}}`,
}

// rareMessages are what the decoder of the SDK has to see: it refuses them, or there is more to them.
var rareMessages = []string{
	"", "{", "{}", "5", "[]", "null", `{"jsonrpc":"2.0","id":1,"method":"ping"} 5`,
	`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"method":"ping","extra":1}`, `{"jsonrpc":"2.0","id":1,"Method":"ping"}`,
	`{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":1e3,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":"a\u0041","method":"ping"}`, `{"jsonrpc":"2.0","id":"é","method":"ping"}`,
	`{"jsonrpc":"2.0","id":1,"method":5}`, `{"jsonrpc":"2.0","id":1,"method":"p\u0069ng"}`, `{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, `{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}}",
}

// sameAsSDK fails if data is read the short way and the SDK reads something else.
func sameAsSDK(t *testing.T, data []byte) (short bool) {
	t.Helper()
	before := bytes.Clone(data)
	got, _ := mcpserver.Ordinary(data)
	if !bytes.Equal(data, before) {
		t.Errorf("%.200s: was changed", before)
	}
	if got == nil {
		return false
	}
	want, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		t.Errorf("%.200s: is read as a request, the SDK: %v", data, err)
		return true
	}
	if diff := cmp.Diff(want, jsonrpc.Message(got), cmp.AllowUnexported(jsonrpc.ID{})); diff != "" {
		t.Errorf("%.200s: as the SDK reads it, and as it was read:\n%s", data, diff)
	}
	return true
}

// TestDailyMessages holds that what is sent all the time is read the short way, that all else is not, and that it makes no difference.
func TestDailyMessages(t *testing.T) {
	t.Parallel()
	for _, text := range dailyMessages {
		if !sameAsSDK(t, []byte(text)) {
			t.Errorf("%s: is read the long way", text)
		}
	}
	for _, text := range rareMessages {
		if sameAsSDK(t, []byte(text)) {
			t.Errorf("%.200s: is read the short way", text)
		}
	}
}

// TestDailyMessageMemory holds what a call costs before it is worked on: the decoder of the SDK makes two buffers of 32 KiB for each.
func TestDailyMessageMemory(t *testing.T) { // not parallel: what all goroutines allocate counts
	data := []byte(dailyMessages[0])
	const calls = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		mcpserver.Ordinary(data)
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / calls; n > 8<<10 {
		t.Errorf("reading a call takes %d bytes, want at most 8 KiB", n)
	}
}

// FuzzMessage looks for messages that the SDK reads in another way.
func FuzzMessage(f *testing.F) {
	for _, text := range append(dailyMessages, rareMessages...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameAsSDK(t, data) })
}
