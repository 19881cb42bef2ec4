package mcpserver_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestEndOfInput ends the input while a call is under way: its answer still goes out, and a question that nobody can answer any more holds
// nothing up.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	rows := []struct{ name, targets, capabilities string }{
		{"call", "local", "{}"},
		{"question", "both", `{"elicitation":{}}`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s, h := holding(t, r.targets)
			c := over(t, s.Server, true)
			c.initialize("2025-06-18", r.capabilities)
			if r.targets == "both" {
				c.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"get-machine","arguments":{"name":"box","target":"local"}}}`)
				if m := c.reply(); m.Method != "elicitation/create" {
					t.Fatalf("no question but %s", m.line)
				}
				c.in.Close()
				<-h.asked
			} else {
				c.call("5")
				<-h.asked
				c.in.Close()
			}
			close(h.free)
			if m := c.reply(); string(m.ID) != "5" || !strings.Contains(string(m.Result), `"name":"box"`) {
				t.Errorf("the answer is %s", m.line)
			}
			c.ended()
		})
	}
}

// TestOneShot sends all at once, as a shell does, the last line without its end.
func TestOneShot(t *testing.T) {
	t.Parallel()
	s, h := holding(t, "local")
	close(h.free)
	c := over(t, s.Server, true)
	c.initialize("2024-11-05", "{}")
	c.call("1")
	c.call("2")
	io.WriteString(c.in, strings.Repeat("z", 1<<20))
	c.in.Close()
	answers := map[string]int{}
	for range 3 {
		m := c.reply()
		if m.Error == nil {
			answers[string(m.ID)]++
		} else {
			answers[fmt.Sprint(m.Error.Code)]++
		}
	}
	if diff := cmp.Diff(map[string]int{"1": 1, "2": 1, "-32700": 1}, answers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.ended()
}

// TestEndIsBounded ends the input while something goes on that does not end by itself.
func TestEndIsBounded(t *testing.T) {
	t.Parallel()
	t.Run("a call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, h := holding(t, "local")
			c := over(t, s.Server, true)
			c.initialize("2025-06-18", "{}")
			c.call("1")
			<-h.asked
			begin := time.Now()
			c.in.Close()
			if m := c.reply(); string(m.ID) != "1" || !strings.Contains(m.line, "CANCELLED") {
				t.Errorf("the answer is %s", m.line)
			}
			c.ended()
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("it ended after %v", took)
			}
		})
	})
	t.Run("a client that does not read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, h := holding(t, "local")
			close(h.free)
			c := over(t, s.Server, false)
			c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
			c.call("2")
			synctest.Wait()
			begin := time.Now()
			c.in.Close()
			synctest.Wait()
			select {
			case err := <-c.served:
				if err == nil {
					t.Log("the end was no error")
				}
			case <-time.After(12 * time.Second):
				t.Fatal("it does not end")
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("it ended after %v", took)
			}
		})
	})
	t.Run("a client that is gone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, h := holding(t, "local")
			c := over(t, s.Server, true)
			c.initialize("2025-06-18", "{}")
			c.call("1")
			<-h.asked
			c.out.CloseWithError(errors.New("broken pipe"))
			begin := time.Now()
			c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
			c.send(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
			c.in.Close()
			<-c.served
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("it ended after %v", took)
			}
		})
	})
}
