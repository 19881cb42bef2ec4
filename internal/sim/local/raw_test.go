package local_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// rawConn is a connection without a client.
type rawConn struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func (r *rig) dial() *rawConn {
	r.t.Helper()
	c, err := dial(context.Background(), r.socket)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return &rawConn{c, r.t, bufio.NewReader(c)}
}

func (c *rawConn) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// response reads a whole response to a request of the method.
func (c *rawConn) response(method string) answer {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}
