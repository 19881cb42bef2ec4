// Package rest is the plumbing between a fleet's client and HTTP: send a request, classify what comes back, parse it.
//
// Whatever an answer looks like, the caller gets a value, an [*smol.Error] or its own context's error. Bodies are closed on
// every path, redirects are not followed, and nothing is sent twice except by net/http itself, which repeats a GET that a
// reused connection swallowed, and a request of which not one byte had been sent.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// Config says how to reach a service.
type Config struct {
	// Base is the scheme and host, and the path that all routes share if there is one. It has no query.
	Base *url.URL
	// Transport carries the requests; see [NewTransport].
	Transport http.RoundTripper
	// Header is sent with every request.
	Header http.Header
	// RequestID names the response header with the service's id of the request.
	RequestID string
	// Secret is what must not get into an error, whatever a service or a network answers; empty: nothing.
	Secret string
	// Timeout bounds each request with its whole answer. Zero: only the caller's context does.
	Timeout time.Duration
}

// Client sends requests to one service. It is safe for concurrent use.
type Client struct {
	http      http.Client
	base      url.URL
	header    http.Header
	requestID string
	secret    string
}

// New returns a client. It does no I/O.
func New(c *Config) *Client {
	return &Client{
		http: http.Client{
			Transport: c.Transport,
			// A redirect would send the request, and a token with it, to another place. No service of ours has one.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Timeout:       c.Timeout,
		},
		base:      *c.Base,
		header:    c.Header.Clone(),
		requestID: c.RequestID,
		secret:    c.Secret,
	}
}

// Close closes the connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Request is one request. Op, Machine and File only describe it in errors.
type Request struct {
	// Op is what is being done, Machine the machine, File the file in it.
	Op, Machine, File string
	// Method is the HTTP method; empty: GET.
	Method string
	// Path is the escaped path below the base, with its leading slash. Build it from [Segment] and [GuestPath].
	Path string
	// Query is the encoded query, without the question mark.
	Query string
	// Accept is the media type wanted; empty: any.
	Accept string
	// Body is sent as ContentType. Nil: no body. It is closed if it is an io.Closer.
	Body        io.Reader
	ContentType string
	// Size is the length of Body, or -1 if it is not known. It is used only where net/http cannot tell by itself.
	Size int64
	// Limit bounds the bytes of a JSON answer. Zero: 16 MiB.
	Limit int64
	// MayBeEmpty allows a success without a body where JSON is expected: nothing is decoded then.
	MayBeEmpty bool

	secret string // of the client that sends it
}

// Do sends r and returns the response if its status is 2xx; the caller closes its body. Any other status is the error that
// the body describes, as [Decode] reads it.
func (c *Client) Do(ctx context.Context, r *Request) (*http.Response, error) {
	r.secret = c.secret
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, r.fail(smol.CodeInvalid, "cannot be sent", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, r.transportError(ctx, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	return nil, c.errorOf(ctx, r, resp)
}

// JSON sends in as the body of r, unless it is nil, and decodes the answer into out, unless that is nil. Fields that out does not
// have are ignored.
func (c *Client) JSON(ctx context.Context, r *Request, in, out any) error {
	if in != nil {
		withBody := *r
		r = &withBody
		if err := r.Attach(in, 0); err != nil {
			return err
		}
	}
	resp, err := c.Do(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if out == nil {
		// Read to its end the connection can be used again.
		_, _ = io.CopyN(io.Discard, resp.Body, errorLimit)
		return nil
	}
	return r.decode(ctx, resp, out)
}

// Attach makes in the body of r, as JSON. More than most bytes are refused; 0: no limit.
func (r *Request) Attach(in any, most int) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // scripts are full of <, > and &, and six bytes for each count against a limit
	if err := enc.Encode(in); err != nil {
		return r.fail(smol.CodeInvalid, "cannot be encoded", err)
	}
	body := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if most > 0 && len(body) > most {
		e := r.fail(smol.CodeInvalid, fmt.Sprintf("the request has %d bytes; the service takes %d", len(body), most), nil)
		e.Hint = "put what is large into a file of the machine first"
		return e
	}
	r.Body, r.ContentType = bytes.NewReader(body), "application/json"
	return nil
}

// request makes the HTTP request. The URL is a copy of the base with another path: parsing it anew would cost more than
// everything else here.
func (c *Client) request(ctx context.Context, r *Request) (*http.Request, error) {
	req, err := http.NewRequestWithContext(context.WithValue(ctx, callerKey{}, ctx), r.Method, "", r.Body)
	if err != nil {
		return nil, err
	}
	u := c.base
	u.Path += r.Path
	u.RawQuery = r.Query
	if strings.Contains(r.Path, "%") {
		u.RawPath = u.Path
		if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
			return nil, err
		}
	}
	req.URL, req.Host = &u, u.Host
	for name, values := range c.header {
		req.Header[name] = values
	}
	if r.Accept != "" {
		req.Header["Accept"] = []string{r.Accept}
	}
	if r.Body == nil {
		return req, nil
	}
	if r.ContentType != "" {
		req.Header["Content-Type"] = []string{r.ContentType}
	}
	if req.ContentLength == 0 && req.Body != http.NoBody {
		req.ContentLength = r.Size
		if r.Size == 0 {
			req.Body = http.NoBody // otherwise net/http takes 0 for "not known"
		}
	}
	return req, nil
}
