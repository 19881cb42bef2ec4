package mcpserver_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
)

// writes counts what is written to a stream, each write being a call of the system in the program.
type writes struct {
	io.Writer
	n atomic.Int64
}

func (w *writes) Write(p []byte) (int, error) {
	w.n.Add(1)
	return w.Writer.Write(p)
}

// TestCallCosts holds what a call that looks at a machine does: one request to the fleet, one write to the client, one to the log.
func TestCallCosts(t *testing.T) {
	t.Parallel()
	log := &writes{Writer: io.Discard}
	s, l := locally(t, func(o *mcpserver.Options) { o.Logger = slog.New(slog.NewJSONHandler(log, nil)) })
	if _, err := l.Service(t).Create(t.Context(), smol.Spec{Name: "box"}, nil); err != nil {
		t.Fatal(err)
	}
	r, in := io.Pipe()
	answers, w := io.Pipe()
	out := &writes{Writer: w}
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), mcpserver.Stdio(r, out)) }()
	lines := bufio.NewReader(answers)
	ask := func(id int, rest string) string {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", id, rest)
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	ask(1, `"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	look := `"method":"tools/call","params":{"name":"get-machine","arguments":{"name":"box"}}`
	ask(2, look) // the first call has a look at the fleet too

	const calls = 10
	requests, wrote, logged := len(l.Requests()), out.n.Load(), log.n.Load()
	for i := range calls {
		if line := ask(3+i, look); !strings.Contains(line, `"state":`) {
			t.Fatal(line)
		}
	}
	if n := len(l.Requests()) - requests; n != calls {
		t.Errorf("%d calls sent %d requests to the fleet, want one each", calls, n)
	}
	if n := out.n.Load() - wrote; n != calls {
		t.Errorf("%d answers took %d writes, want one each", calls, n)
	}
	if n := log.n.Load() - logged; n != calls {
		t.Errorf("%d calls took %d writes to the log, want one each", calls, n)
	}
	in.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
