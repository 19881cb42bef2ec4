package cloud

import (
	"net/http"
	"strings"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/internal/retry"
)

// operation is one kind of request.
type operation struct {
	name   string // in errors
	method string
	path   string // {id} and {path} stand for the machine and the file
	policy retry.Policy
	reason string // for the policy
}

type opID int

// The operations, each with its row in the table.
const (
	opHealth opID = iota
	opAccount
	opList
	opCreate
	opInspect
	opDelete
	opStart
	opStop
	opExec
	opStream
	opEvents
	opLogs
	opDownload
	opUpload
	opBranch
	opFork
	opLineage
	opUsage
)

// operations says what may be sent again and why. There is no other place that decides it.
var operations = [...]operation{
	opHealth:   {"health", http.MethodGet, "/health", retry.Question, "changes nothing"},
	opAccount:  {"account", http.MethodGet, "/v1/account", retry.Question, "changes nothing"},
	opList:     {"list", http.MethodGet, "/v1/machines", retry.Question, "changes nothing"},
	opCreate:   {"create", http.MethodPost, "/v1/machines", retry.Refused, "a second one is a second machine, billed"},
	opInspect:  {"inspect", http.MethodGet, "/v1/machines/{id}", retry.Question, "changes nothing"},
	opDelete:   {"delete", http.MethodDelete, "/v1/machines/{id}", retry.Idempotent, "ids are never given again; a second one meets nothing"},
	opStart:    {"start", http.MethodPost, "/v1/machines/{id}/start", retry.Refused, "a machine whose work is done would run again; its state is asked for instead"},
	opStop:     {"stop", http.MethodPost, "/v1/machines/{id}/stop", retry.Idempotent, "a machine that is stopped stays so"},
	opExec:     {"exec", http.MethodPost, "/v1/machines/{id}/exec", retry.Refused, "a second one runs the command again"},
	opStream:   {"stream", http.MethodPost, "/v1/machines/{id}/exec/stream", retry.Refused, "a second one runs the command again"},
	opEvents:   {"events", http.MethodGet, "/v1/machines/{id}/events", retry.Question, "changes nothing"},
	opLogs:     {"logs", http.MethodGet, "/v1/machines/{id}/logs", retry.Question, "changes nothing; what has begun to come is not asked for again"},
	opDownload: {"read file", http.MethodGet, "/v1/machines/{id}/files/{path}", retry.Question, "changes nothing; what has begun to come is not asked for again"},
	opUpload:   {"write file", http.MethodPut, "/v1/machines/{id}/files/{path}", retry.Never, "the content is a stream, which cannot be read twice"},
	opBranch:   {"branch", http.MethodPost, "/v1/machines/{id}/branches", retry.Refused, "a second one is a second machine, billed"},
	opFork:     {"branch", http.MethodPost, "/v1/machines/{id}/fork", retry.Refused, "a second one is a second machine, billed"},
	opLineage:  {"delete", http.MethodGet, "/v1/machines/{id}/lineage", retry.Question, "changes nothing"},
	opUsage:    {"usage", http.MethodGet, "/v1/machines/{id}/usage", retry.Question, "changes nothing"},
}

// call is a request of an operation.
type call struct {
	rest.Request
	op   *operation
	plan *retry.Plan // once it has been sent
}

// newCall makes the request of op about the machine with that id, if the operation is about one. An id that could lead elsewhere in a URL is
// refused.
func newCall(op opID, id string) (*call, error) {
	o := &operations[op]
	c := &call{op: o, Request: rest.Request{Op: o.name, Machine: id, Method: o.method, Path: o.path, Accept: "application/json"}}
	if strings.Contains(o.path, "{id}") {
		segment, err := rest.Segment("machine id", id)
		if err != nil {
			return nil, rest.Describe(err, o.name, "")
		}
		c.Path = strings.Replace(c.Path, "{id}", segment, 1)
	}
	return c, nil
}
