package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/smol-machines/smol-go/smol"
)

const (
	defaultLimit = 16 << 20
	// prealloc is how much an announced length is believed.
	prealloc = 1 << 20
	// errorLimit is how much of an error's body is looked at: more than any service sends, less than hurts.
	errorLimit = 256 << 10
)

// decode reads a JSON answer. An answer that is cut off or is no JSON leaves open what the service did, so it has no status.
func (r *Request) decode(ctx context.Context, resp *http.Response, out any) error {
	limit := r.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	var buf bytes.Buffer
	if n := resp.ContentLength; n > 0 {
		buf.Grow(int(min(n, prealloc)) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return r.transportError(ctx, err)
	case int64(buf.Len()) > limit:
		return r.fail(smol.CodeUnknown, fmt.Sprintf("reply is larger than %d bytes", limit), nil)
	case r.MayBeEmpty && len(bytes.TrimSpace(buf.Bytes())) == 0:
		return nil
	}
	if err := json.Unmarshal(buf.Bytes(), out); err != nil {
		return r.NotUnderstood(resp, buf.Bytes(), err)
	}
	return nil
}

// NotUnderstood says that the answer is not what was asked for. body is how it begins, err why it cannot be read.
func (r *Request) NotUnderstood(resp *http.Response, body []byte, err error) error {
	body = body[:min(len(body), 4*shortText)]
	what := describe(resp.StatusCode, resp.Header.Get("Content-Type"), r.withoutSecret(body))
	return r.fail(smol.CodeUnknown, "reply is not understood: "+what, err)
}

// errorOf makes the error of a response that is not a success, and closes its body.
func (c *Client) errorOf(ctx context.Context, r *Request, resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, errorLimit))
	_ = resp.Body.Close()
	if err != nil && ctx.Err() != nil {
		return r.transportError(ctx, err)
	}
	// A body that is cut off says as much as arrived: the status is certain.
	e := r.Refusal(resp.StatusCode, resp.Header.Get("Content-Type"), body)
	e.RetryAfter = RetryAfter(resp.Header.Get("Retry-After"))
	if c.requestID != "" {
		e.RequestID = string(r.withoutSecret([]byte(clean(resp.Header.Get(c.requestID), 128))))
	}
	return e
}

// Refusal makes the error of a body as [Decode] does, in terms of r.
func (r *Request) Refusal(status int, contentType string, body []byte) *smol.Error {
	// The secret is taken out before a part of it can be cut off, and after what JSON has escaped is plain.
	e := Decode(status, contentType, r.withoutSecret(body))
	e.Op, e.Machine, e.Path = r.Op, r.Machine, r.File
	for _, s := range []*string{&e.Message, &e.ServerCode} {
		*s = string(r.withoutSecret([]byte(*s)))
	}
	return e
}

// withoutSecret returns text, in which the secret is replaced.
func (r *Request) withoutSecret(text []byte) []byte {
	if r.secret == "" {
		return text
	}
	return bytes.ReplaceAll(text, []byte(r.secret), []byte("[redacted]"))
}

// cutShort are the errors of a connection that the other side closed. The numbers are those of Windows, for whose errors package syscall has no names.
var cutShort = []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, syscall.Errno(10053), syscall.Errno(10054)}

// transportError says why there is no (whole) answer. The error of the caller's own context stays what it is.
func (r *Request) transportError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return r.contextError(ctx)
	}
	var known *smol.Error
	if errors.As(err, &known) { // from the dialler or a body
		e := *known
		e.Op, e.Machine, e.Path = r.Op, r.Machine, r.File
		e.Message = string(r.withoutSecret([]byte(e.Message)))
		return &e
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	message := ""
	if slices.ContainsFunc(cutShort, func(cut error) bool { return errors.Is(err, cut) }) {
		message = "connection was cut before the reply was complete"
	}
	return r.fail(smol.CodeUnavailable, message, err)
}

// contextError returns the error of ctx, which has ended, and what it cut short. Its cause is reachable too.
func (r *Request) contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		err = cause
	} else {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &interrupted{strings.TrimSpace(r.Op + " " + r.Machine), err}
}

// interrupted says what a context has cut short.
type interrupted struct {
	what string
	err  error
}

// Error returns "smol: op machine: cause".
func (e *interrupted) Error() string { return "smol: " + e.what + ": " + e.err.Error() }

// Unwrap returns the context's error, with its cause.
func (e *interrupted) Unwrap() error { return e.err }

// Interrupted is Unwrap under a name that package smol looks for: it says itself what was cut short.
func (e *interrupted) Interrupted() error { return e.err }

// Broken says that a body that was being read broke off with err, in terms of r.
func (r *Request) Broken(ctx context.Context, err error) error { return r.transportError(ctx, err) }

func (r *Request) fail(code smol.Code, message string, err error) *smol.Error {
	if err != nil && r.secret != "" && strings.Contains(err.Error(), r.secret) {
		err = errors.New(string(r.withoutSecret([]byte(err.Error()))))
	}
	message = string(r.withoutSecret([]byte(message)))
	return &smol.Error{Op: r.Op, Machine: r.Machine, Path: r.File, Code: code, Message: message, Err: err}
}

// describe is what can be said about a body that is not what it should be: status, type and its beginning.
func describe(status int, contentType string, body []byte) string {
	text := strconv.Itoa(status)
	if name := http.StatusText(status); name != "" {
		text += " " + name
	}
	if typ, _, err := mime.ParseMediaType(contentType); err == nil {
		text += ", " + typ
	}
	if snippet := clean(string(body[:min(len(body), 4*shortText)]), shortText); snippet != "" {
		text += ": " + snippet
	}
	return text
}
