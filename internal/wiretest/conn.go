package wiretest

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

// deadline bounds one exchange, and one wait for a state.
const deadline = 60 * time.Second

// conn is a raw connection: bytes are written, bytes are read, and only the framing of the reply is understood.
type conn struct {
	net.Conn
	br *bufio.Reader
}

// Answer is the head of a reply as it came.
type Answer struct {
	// Status is its three digits.
	Status string
	// Headers are by name in lower case, with all their values.
	Headers map[string][]string
}

// Header returns the values of a header, whose name is in lower case, as one text.
func (a *Answer) Header(name string) string { return strings.Join(a.Headers[name], " ") }

func dial(s Service) (*conn, error) {
	c, err := s.Dial()
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(deadline)); err != nil {
		c.Close()
		return nil, err
	}
	return &conn{c, bufio.NewReader(c)}, nil
}

// send writes in the background: a server may answer before it has read everything, and then stop reading.
func (c *conn) send(raw []byte) {
	go c.Write(raw)
}

// head reads the status line and the headers.
func (c *conn) head() (*Answer, error) {
	line, err := c.line()
	if err != nil {
		return nil, fmt.Errorf("read the status line: %w", err)
	}
	rest, ok := strings.CutPrefix(line, "HTTP/1.1 ")
	if !ok || len(rest) < 3 {
		return nil, fmt.Errorf("%q is no status line", line)
	}
	a := &Answer{Status: rest[:3], Headers: map[string][]string{}}
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
		a.Headers[name] = append(a.Headers[name], strings.TrimSpace(value))
	}
}

func (c *conn) line() (string, error) {
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
func (a *Answer) reader(c *conn, method string) (io.Reader, error) {
	switch {
	case a.Status == "101":
		return c.br, nil
	case method == "HEAD", a.Status == "204", a.Status == "304":
		return strings.NewReader(""), nil
	case len(a.Headers["transfer-encoding"]) > 0:
		return &chunks{c: c}, nil
	case len(a.Headers["content-length"]) > 0:
		n, err := strconv.ParseInt(a.Headers["content-length"][0], 10, 64)
		if err != nil {
			return nil, err
		}
		return io.LimitReader(c.br, n), nil
	default:
		return c.br, nil
	}
}

// chunks reads a chunked body.
type chunks struct {
	c    *conn
	left int64
	done bool
}

func (r *chunks) Read(p []byte) (int, error) {
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

// stream is a reply whose body goes on.
type stream struct {
	*conn
	body io.Reader
	got  bytes.Buffer
}

// until reads until what came since the beginning matches re.
func (s *stream) until(re *regexp.Regexp) error {
	buf := make([]byte, 4096)
	for !re.MatchString(latin(s.got.String())) {
		n, err := s.body.Read(buf)
		s.got.Write(buf[:n])
		if err != nil && !re.MatchString(latin(s.got.String())) {
			return fmt.Errorf("got %s: %w, want %s", clip(s.got.String()), err, re)
		}
	}
	return nil
}
