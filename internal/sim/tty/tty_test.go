package tty_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/task"
	"github.com/smol-machines/smol-go/internal/sim/tty"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// instance runs a Go function as the one command it knows. The rest of sim.Instance is not called.
type instance struct {
	sim.Instance
	run  func(p *process, in io.Reader, out io.Writer) int
	last atomic.Pointer[process]
}

type process struct {
	killed  chan struct{}
	signals atomic.Int32
	size    chan [2]int
	waited  chan int
}

func (i *instance) Start(_ context.Context, c *sim.Command) (sim.Process, error) {
	if !c.TTY || i.run == nil {
		return nil, fs.ErrNotExist
	}
	p := &process{killed: make(chan struct{}), size: make(chan [2]int, 1), waited: make(chan int, 1)}
	i.last.Store(p)
	go func() { p.waited <- i.run(p, c.Stdin, c.Stdout) }()
	return p, nil
}

func (p *process) PID() int           { return 1 }
func (p *process) Wait() (int, error) { return <-p.waited, nil }

func (p *process) Signal(int) error {
	if p.signals.Add(1) == 1 {
		close(p.killed)
	}
	return nil
}

func (p *process) Resize(rows, cols int) error {
	p.size <- [2]int{rows, cols}
	return nil
}

// dial serves one terminal and connects to it. The channel gets what Run returned.
func dial(t *testing.T, i *instance) (*websocket.Conn, *task.Group, <-chan string) {
	t.Helper()
	g := task.New()
	ended := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		term := tty.New(g.Context(), ws)
		defer term.Close()
		code, err := term.Run(g, i, &sim.Command{})
		ended <- fmt.Sprint(code, " ", err)
	}))
	ws, _, err := websocket.Dial(t.Context(), s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = ws.CloseNow()
		g.Close(func() {})
		s.Close()
	})
	return ws, g, ended
}

func want(t *testing.T, ws *websocket.Conn, kind websocket.MessageType, text string) {
	t.Helper()
	k, b, err := ws.Read(t.Context())
	if err != nil || k != kind || string(b) != text {
		t.Fatalf("%v %q, %v; want %v %q", k, b, err, kind, text)
	}
}

// echo says what it reads, line by line, until it reads the end of its input, two characters.
func echo(p *process, in io.Reader, out io.Writer) int {
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadString('\n')
		if err != nil || strings.HasPrefix(line, "\x04\x04") {
			return 3
		}
		fmt.Fprint(out, line)
	}
}

func TestSession(t *testing.T) {
	i := &instance{run: echo}
	ws, _, ended := dial(t, i)
	send := func(kind websocket.MessageType, text string) {
		t.Helper()
		if err := ws.Write(t.Context(), kind, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	send(websocket.MessageBinary, "a\n")
	want(t, ws, websocket.MessageBinary, "a\n")
	send(websocket.MessageText, `{"type":"stdin","data":"b\n"}`)
	want(t, ws, websocket.MessageBinary, "b\n")
	send(websocket.MessageText, `{"type":"resize","rows":10,"cols":20}`)
	if got := <-i.last.Load().size; got != [2]int{10, 20} {
		t.Errorf("size %v", got)
	}
	send(websocket.MessageText, `{"type":"other"}`+"\n")
	want(t, ws, websocket.MessageBinary, `{"type":"other"}`+"\n")
	send(websocket.MessageBinary, "")
	send(websocket.MessageBinary, "\n")
	want(t, ws, websocket.MessageText, `{"type":"exit","code":3}`)
	if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("%v", err)
	}
	if got := <-ended; got != "3 <nil>" {
		t.Errorf("%s", got)
	}
}

// wait does not read, so that only a signal ends it.
func wait(p *process, _ io.Reader, _ io.Writer) int {
	<-p.killed
	return 137
}

func TestHangUp(t *testing.T) {
	i := &instance{run: wait}
	ws, _, ended := dial(t, i)
	if err := ws.Write(t.Context(), websocket.MessageBinary, []byte("not read")); err != nil {
		t.Fatal(err)
	}
	_ = ws.CloseNow()
	if got := <-ended; got != "130 <nil>" {
		t.Errorf("%s", got)
	}
}

func TestServerEnds(t *testing.T) {
	_, g, ended := dial(t, &instance{run: wait})
	g.Close(func() {})
	if got := <-ended; got != "130 <nil>" && got != "137 <nil>" { // whichever it notices first
		t.Errorf("%s", got)
	}
}

func TestNotStarted(t *testing.T) {
	ws, _, ended := dial(t, &instance{})
	want(t, ws, websocket.MessageText, `{"type":"exit","code":-1}`)
	if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("%v", err)
	}
	if got := <-ended; got != fmt.Sprint("-1 ", fs.ErrNotExist) {
		t.Errorf("%s", got)
	}
}
