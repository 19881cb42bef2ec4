package wiretest

import (
	"fmt"
	"time"
)

// Await asks for path until the answer is 200 with a JSON body that matches; with an empty one the answer may go on.
func (r *Run) Await(path, body string) error {
	s := step{kind: "request", reply: reply{status: "200", body: body, checkBody: true}}
	if body == "" {
		s.kind = "open"
	}
	return r.await(path, s, func() {})
}

// AwaitStatus asks for path until the answer has that status, with before called before each time.
func (r *Run) AwaitStatus(path, status string, before func()) error {
	return r.await(path, step{kind: "request", reply: reply{status: status}}, before)
}

func (r *Run) await(path string, s step, before func()) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var last error
	for end := time.Now().Add(deadline); time.Now().Before(end); <-tick.C {
		before()
		if last = r.exchange(s, "GET "+path+" HTTP/1.1\n"); last == nil {
			return nil
		}
	}
	return fmt.Errorf("in vain: %w", last)
}
