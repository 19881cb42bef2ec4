package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/sim/serde"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// jsonLimit is how large a JSON body may be.
const jsonLimit = 64 << 20

// call is a request on its way through a handler.
type call struct {
	*Server
	w http.ResponseWriter
	r *http.Request
	// ctx ends when the client goes or the server closes: then the handler is abandoned at its step.
	ctx    context.Context
	params map[string]string
	// who sends it; nil where no key is asked for.
	who *principal
}

// handler answers with a value to send as JSON, a reply, or nil if it has answered by itself. Errors are *failure, *bare or
// task.ErrAbandoned.
type handler func(c *call) (any, error)

// reply is an answer that is not 200 with JSON. A nil value is no body.
type reply struct {
	status int
	value  any
}

// admit refuses who may not do this, or not at this time.
func (c *call) admit(m *method) error {
	if c.o.Rate > 0 {
		remaining, wait := c.rates.take(c.Server, c.who.account)
		c.w.Header().Set("X-Ratelimit-Remaining", fmt.Sprint(remaining))
		if wait > 0 {
			c.w.Header().Set("Retry-After", fmt.Sprint(wait))
			return fail(http.StatusTooManyRequests, "rate limit exceeded; try again in %d s", wait)
		}
	}
	switch {
	case m == nil || c.who.machine != "":
		return nil
	case !m.idle && slices.Contains(c.o.Suspended, c.who.account):
		return fail(http.StatusPaymentRequired, "this organization is suspended")
	case !c.who.may(m.scopes):
		return fail(http.StatusForbidden, "missing scope: %s", strings.Join(m.scopes, " or "))
	}
	return nil
}

// answer sends what a handler returned.
func (c *call) answer(v any, err error) {
	var f *failure
	var b *bare
	switch {
	case errors.As(err, &f):
		contentType, body := f.encode(c.o.Errors)
		c.bytes(f.status, contentType, body)
	case errors.As(err, &b):
		c.bytes(b.status, "", nil)
	case errors.Is(err, task.ErrAbandoned):
		c.o.Log.Debug("client gone", "method", c.r.Method, "path", c.r.URL.Path)
		panic(http.ErrAbortHandler) // nobody is there to read an answer
	case err != nil:
		c.o.Log.Error("request failed", "method", c.r.Method, "path", c.r.URL.Path, "err", err)
		c.answer(nil, internal("internal error"))
	case v == nil:
	default:
		r, ok := v.(reply)
		switch {
		case !ok:
			c.json(http.StatusOK, v)
		case r.value == nil:
			c.bytes(r.status, "", nil)
		default:
			c.json(r.status, r.value)
		}
	}
}

func (c *call) bytes(status int, contentType string, body []byte) {
	h := c.w.Header()
	if contentType == "" {
		h["Content-Type"] = nil
	} else {
		h.Set("Content-Type", contentType)
	}
	if status != http.StatusNoContent {
		h.Set("Content-Length", fmt.Sprint(len(body)))
	}
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead && len(body) > 0 {
		_, _ = c.w.Write(body)
	}
}

func (c *call) json(status int, v any) {
	if raw, ok := v.(json.RawMessage); ok {
		c.bytes(status, "application/json", raw)
		return
	}
	c.bytes(status, "application/json", marshal(v))
}

// marshal makes JSON of what the server itself has made, which is always possible, without escapes for HTML.
func marshal(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// body reads the request's body up to limit.
func (c *call) body(limit int64) ([]byte, error) {
	tooLarge := fail(http.StatusRequestEntityTooLarge, "Failed to buffer the request body: length limit exceeded")
	if c.r.ContentLength > limit {
		return nil, tooLarge
	}
	b, err := io.ReadAll(io.LimitReader(c.r.Body, limit+1))
	switch {
	case err != nil:
		return nil, badRequest("Failed to buffer the request body: %v", err)
	case int64(len(b)) > limit:
		return nil, tooLarge
	}
	return b, nil
}

// isJSON reports whether a content type is application/json or application/…+json.
func isJSON(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	sub, app := strings.CutPrefix(t, "application/")
	return err == nil && app && (sub == "json" || strings.HasSuffix(sub, "+json"))
}

// decode reads the JSON body of a route that requires one.
func (c *call) decode(into any) error {
	if !isJSON(c.r.Header.Get("Content-Type")) {
		return fail(http.StatusUnsupportedMediaType, "Expected request with `Content-Type: application/json`")
	}
	b, err := c.body(jsonLimit)
	if err != nil {
		return err
	}
	return rejectJSON(serde.Decode(b, into, nil))
}

// decodeMaybe reads the JSON body of a route that does without one.
func (c *call) decodeMaybe(into any) error {
	b, err := c.body(jsonLimit)
	if err != nil || len(bytes.TrimSpace(b)) == 0 {
		return err
	}
	return rejectJSON(serde.Decode(b, into, nil))
}

func rejectJSON(err error) error {
	var e *serde.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e) && !e.Syntax:
		return unprocessable("Failed to deserialize the JSON body into the target type: %v", e)
	}
	return badRequest("Failed to parse the request body as JSON: %v", err)
}

// query reads the query string.
func (c *call) query(into any) error {
	if err := serde.Query(c.r.URL.RawQuery, into); err != nil {
		return badRequest("Failed to deserialize query string: %v", err)
	}
	return nil
}

// valueOr is what p points to, or def.
func valueOr[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}
