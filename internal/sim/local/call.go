package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/serde"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// The body limits.
const (
	jsonLimit   = 2 << 20
	uploadLimit = 100 << 20
)

// call is a request on its way through a handler.
type call struct {
	*Server
	w http.ResponseWriter
	r *http.Request
	// ctx ends when the request times out, its client goes or the server closes: then the handler is abandoned at its step.
	ctx    context.Context
	params map[string]string
}

// handler answers with a value to send as JSON, a reply, or nil if it has answered by itself. Errors are *apiError, *rejection,
// errTimeout or [task.ErrAbandoned].
type handler func(c *call) (any, error)

// apiError is a failure told in the service's own JSON shape.
type apiError struct {
	status int
	code   string
	text   string
}

func (e *apiError) Error() string { return e.text }

func fail(status int, code, format string, args ...any) *apiError {
	return &apiError{status: status, code: code, text: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *apiError {
	return fail(http.StatusBadRequest, "BAD_REQUEST", format, args...)
}

func notFound(format string, args ...any) *apiError {
	return fail(http.StatusNotFound, "NOT_FOUND", format, args...)
}

func conflict(format string, args ...any) *apiError {
	return fail(http.StatusConflict, "CONFLICT", format, args...)
}

func internal(format string, args ...any) *apiError {
	return fail(http.StatusInternalServerError, "INTERNAL_ERROR", format, args...)
}

// rejection is a failure told by the framework below the service, in plain text.
type rejection struct {
	status int
	text   string
}

func (e *rejection) Error() string { return e.text }

// errTimeout is the end of a call whose time for reading the request was over, which makes net/http end the context too.
var errTimeout = errors.New("timed out")

// reply is an answer that is not JSON.
type reply struct {
	contentType string
	body        []byte
}

// answer sends what a handler returned.
func (c *call) answer(v any, err error) {
	var api *apiError
	var rej *rejection
	switch {
	case errors.As(err, &api):
		c.json(api.status, struct {
			Error string `json:"error"`
			Code  string `json:"code"`
		}{api.text, api.code})
	case errors.As(err, &rej):
		c.text(rej.status, rej.text)
	case errors.Is(err, errTimeout), errors.Is(err, task.ErrAbandoned) && errors.Is(context.Cause(c.ctx), context.DeadlineExceeded):
		c.w.WriteHeader(http.StatusRequestTimeout)
	case errors.Is(err, task.ErrAbandoned):
		panic(http.ErrAbortHandler) // nobody is there to read an answer
	case err != nil:
		c.json(http.StatusInternalServerError, map[string]string{"error": err.Error(), "code": "INTERNAL_ERROR"})
	case v == nil:
	default:
		if r, ok := v.(reply); ok {
			c.bytes(http.StatusOK, r.contentType, r.body)
			return
		}
		c.json(http.StatusOK, v)
	}
}

func (c *call) bytes(status int, contentType string, body []byte) {
	h := c.w.Header()
	if contentType == "" {
		h["Content-Type"] = nil
	} else {
		h.Set("Content-Type", contentType)
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(body)
	}
}

func (c *call) text(status int, text string) {
	c.bytes(status, "text/plain; charset=utf-8", []byte(text))
}

func (c *call) json(status int, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		c.o.Log.Error("encoding a reply", "err", err)
	}
	c.bytes(status, "application/json", bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// body reads the request's body up to limit. A slow one counts against the time-out.
func (c *call) body(limit int64) ([]byte, error) {
	tooLarge := &rejection{http.StatusRequestEntityTooLarge, "Failed to buffer the request body: length limit exceeded"}
	if c.r.ContentLength > limit {
		return nil, tooLarge
	}
	conn := http.NewResponseController(c.w)
	if deadline, ok := c.ctx.Deadline(); ok && conn.SetReadDeadline(deadline) == nil {
		defer conn.SetReadDeadline(time.Time{})
	}
	var b bytes.Buffer
	if c.r.ContentLength > 0 {
		b.Grow(int(c.r.ContentLength) + bytes.MinRead)
	}
	_, err := b.ReadFrom(io.LimitReader(c.r.Body, limit+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.w.Header().Set("Connection", "close")
		return nil, errTimeout
	case err != nil:
		return nil, &rejection{http.StatusBadRequest, "Failed to buffer the request body: " + err.Error()}
	case int64(b.Len()) > limit:
		return nil, tooLarge
	}
	return b.Bytes(), nil
}

// isJSON reports whether a content type is application/json or application/…+json.
func isJSON(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	sub, app := strings.CutPrefix(t, "application/")
	return err == nil && app && (sub == "json" || strings.HasSuffix(sub, "+json"))
}

// decode reads the JSON body of a route that requires one.
func (c *call) decode(into any, o *serde.Options) error {
	if !isJSON(c.r.Header.Get("Content-Type")) {
		return &rejection{http.StatusUnsupportedMediaType, "Expected request with `Content-Type: application/json`"}
	}
	b, err := c.body(jsonLimit)
	if err != nil {
		return err
	}
	return rejectJSON(serde.Decode(b, into, o))
}

func rejectJSON(err error) error {
	var e *serde.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e) && !e.Syntax:
		return &rejection{http.StatusUnprocessableEntity, "Failed to deserialize the JSON body into the target type: " + e.Error()}
	}
	return &rejection{http.StatusBadRequest, "Failed to parse the request body as JSON: " + err.Error()}
}

// query reads the query string.
func (c *call) query(into any) error {
	if err := serde.Query(c.r.URL.RawQuery, into); err != nil {
		return &rejection{http.StatusBadRequest, "Failed to deserialize query string: " + err.Error()}
	}
	return nil
}
