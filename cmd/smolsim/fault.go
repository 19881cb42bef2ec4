package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/fault"
)

// faultHelp tells what a fault is written as.
const faultHelp = "misbehave as the `JSON` says; may be repeated. " +
	`{"method":"POST","path":"/api/v1/machines/*/exec","nth":2,"times":1,"action":"fail","status":503,"body":"busy","contentType":"text/plain","header":{"Retry-After":"2"},` +
	`"delay":"100ms","after":10,"work":true}; the actions are pass, fail, lose reply, cut, hang and garble`

// faultSpec is a fault as the flag has it.
type faultSpec struct {
	Method, Path string
	Nth, Times   int
	Action       string
	Delay        string
	Work         bool
	Status       int
	ContentType  string
	Body         string
	Header       map[string]string
	After        int64
}

// faultActions are those that make sense for a server that is a process of its own.
var faultActions = []fault.Action{fault.Pass, fault.Fail, fault.LoseReply, fault.Cut, fault.Hang, fault.Garble}

// parseFault reads the value of the flag.
func parseFault(text string) (fault.Fault, error) {
	var s faultSpec
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return fault.Fault{}, usagef("invalid value '%s' for '--fault <JSON>': %v", text, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fault.Fault{}, usagef("invalid value '%s' for '--fault <JSON>': there is more than one value", text)
	}
	f := fault.Fault{
		Method: s.Method, Path: s.Path, Nth: s.Nth, Times: s.Times, Work: s.Work, Status: s.Status, ContentType: s.ContentType, Body: s.Body,
		After: s.After,
	}
	if s.Status != 0 && (s.Status < 200 || s.Status > 999) {
		return fault.Fault{}, usagef("invalid value '%s' for '--fault <JSON>': status is from 200 to 999", text)
	}
	if s.Delay != "" {
		var err error
		if f.Delay, err = time.ParseDuration(s.Delay); err != nil {
			return fault.Fault{}, usagef("invalid value '%s' for '--fault <JSON>': %v", text, err)
		}
	}
	f.Header = http.Header{}
	for name, value := range s.Header {
		f.Header.Set(name, value)
	}
	names := make([]string, 0, len(faultActions))
	for _, a := range faultActions {
		if s.Action == a.String() || s.Action == "" && a == fault.Pass {
			f.Action = a
			return f, nil
		}
		names = append(names, a.String())
	}
	return fault.Fault{}, usagef("invalid value '%s' for '--fault <JSON>': the action is one of %s", text, strings.Join(names, ", "))
}

// injector holds the faults of the flags.
func injector(texts []string) (*fault.Injector, error) {
	in := fault.New()
	for _, text := range texts {
		f, err := parseFault(text)
		if err != nil {
			return nil, err
		}
		in.Add(f)
	}
	return in, nil
}
