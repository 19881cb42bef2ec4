package local_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// wireDeadline bounds one exchange.
const wireDeadline = 60 * time.Second

// wireConn is a raw connection: bytes are written, bytes are read, and only the framing of the reply is understood.
type wireConn struct {
	net.Conn
	br *bufio.Reader
}

// wireAnswer is a reply as it came.
type wireAnswer struct {
	status  string
	headers map[string][]string // names in lower case
}

func wireDial(socket string) (*wireConn, error) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(wireDeadline)); err != nil {
		c.Close()
		return nil, err
	}
	return &wireConn{c, bufio.NewReader(c)}, nil
}

// send writes in the background: a server may answer before it has read everything, and then stop reading.
func (c *wireConn) send(raw []byte) {
	go c.Write(raw)
}

// head reads the status line and the headers.
func (c *wireConn) head() (*wireAnswer, error) {
	line, err := c.line()
	if err != nil {
		return nil, fmt.Errorf("read the status line: %w", err)
	}
	rest, ok := strings.CutPrefix(line, "HTTP/1.1 ")
	if !ok || len(rest) < 3 {
		return nil, fmt.Errorf("%q is no status line", line)
	}
	a := &wireAnswer{status: rest[:3], headers: map[string][]string{}}
	for {
		line, err := c.line()
		if err != nil {
			return nil, fmt.Errorf("read the headers: %w", err)
		}
		if line == "" {
			return a, nil
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%q is no header", line)
		}
		name = strings.ToLower(name)
		a.headers[name] = append(a.headers[name], strings.TrimSpace(value))
	}
}

func (c *wireConn) line() (string, error) {
	line, err := c.br.ReadString('\n')
	if err != nil {
		return "", err
	}
	line, ok := strings.CutSuffix(line, "\r\n")
	if !ok {
		return "", fmt.Errorf("%q does not end in CR LF", line)
	}
	return line, nil
}

// reader returns the body as its framing has it.
func (a *wireAnswer) reader(c *wireConn, method string) (io.Reader, error) {
	switch {
	case a.status == "101":
		return c.br, nil
	case method == "HEAD", a.status == "204", a.status == "304":
		return strings.NewReader(""), nil
	case len(a.headers["transfer-encoding"]) > 0:
		return &wireChunks{c: c}, nil
	case len(a.headers["content-length"]) > 0:
		n, err := strconv.ParseInt(a.headers["content-length"][0], 10, 64)
		if err != nil {
			return nil, err
		}
		return io.LimitReader(c.br, n), nil
	default:
		return c.br, nil
	}
}

// wireChunks reads a chunked body.
type wireChunks struct {
	c    *wireConn
	left int64
	done bool
}

func (r *wireChunks) Read(p []byte) (int, error) {
	if r.done {
		return 0, io.EOF
	}
	if r.left == 0 {
		line, err := r.c.line()
		if err != nil {
			return 0, err
		}
		if r.left, err = strconv.ParseInt(line, 16, 64); err != nil {
			return 0, fmt.Errorf("chunk size: %w", err)
		}
		if r.left == 0 {
			r.done = true
			if line, err := r.c.line(); err != nil || line != "" {
				return 0, fmt.Errorf("end of the chunks: %q, %w", line, err)
			}
			return 0, io.EOF
		}
	}
	n, err := r.c.br.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	if r.left == 0 && err == nil {
		if line, err := r.c.line(); err != nil || line != "" {
			return n, fmt.Errorf("end of a chunk: %q, %w", line, err)
		}
	}
	return n, err
}

// wireStream is a reply whose body goes on.
type wireStream struct {
	*wireConn
	body io.Reader
	got  bytes.Buffer
}

// until reads until what came since the beginning matches re.
func (s *wireStream) until(re *regexp.Regexp) error {
	buf := make([]byte, 4096)
	for !re.MatchString(wireLatin(s.got.String())) {
		n, err := s.body.Read(buf)
		s.got.Write(buf[:n])
		if err != nil && !re.MatchString(wireLatin(s.got.String())) {
			return fmt.Errorf("got %s: %w, want %s", wireClip(s.got.String()), err, re)
		}
	}
	return nil
}
