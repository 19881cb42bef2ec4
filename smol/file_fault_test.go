package smol_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// TestPutFaults lets one request of a Put fail in every way. The file has its old content or the new one, nothing is left of the upload, and nothing
// is sent twice.
func TestPutFaults(t *testing.T) {
	const put, exec = "PUT", "POST"
	failed := `{"error":"agent operation failed: write file: no space left on device","code":"INTERNAL_ERROR"}`
	tests := []struct {
		name   string
		fault  smoltest.Fault
		expire bool // whether the context has to end
		want   error
		done   bool // whether the file is written nevertheless
	}{
		{"upload fails", smoltest.Fault{Method: put, Action: smoltest.Fail, ContentType: "application/json", Body: failed}, false, nil, false},
		{"upload fails at the end", smoltest.Fault{Method: put, Action: smoltest.Fail, Work: true}, false, nil, false},
		{"upload without a reply", smoltest.Fault{Method: put, Action: smoltest.LoseReply}, false, smol.ErrUnavailable, false},
		{"upload with half a reply", smoltest.Fault{Method: put, Action: smoltest.Cut, After: 5}, false, nil, false},
		{"upload hangs", smoltest.Fault{Method: put, Action: smoltest.Hang}, true, context.DeadlineExceeded, false},
		{"upload times out", smoltest.Fault{Method: put, Action: smoltest.Fail, Status: 408}, false, nil, false},
		{"commit fails", smoltest.Fault{Method: exec, Path: "exec", Action: smoltest.Fail}, false, nil, false},
		{"commit without a reply", smoltest.Fault{Method: exec, Path: "exec", Action: smoltest.LoseReply}, false, smol.ErrUnavailable, true},
		{"commit with half a reply", smoltest.Fault{Method: exec, Path: "exec", Action: smoltest.Cut, After: 20}, false, nil, true},
		{"commit garbled", smoltest.Fault{Method: exec, Path: "exec", Action: smoltest.Garble}, false, nil, true},
		{"commit hangs", smoltest.Fault{Method: exec, Path: "exec", Action: smoltest.Hang}, true, context.DeadlineExceeded, false},
		{"commit hangs at the end", smoltest.Fault{Method: exec, Path: "exec", Action: smoltest.Hang, Work: true}, true, context.DeadlineExceeded, true},
	}
	m := newFileMachine(t, smol.Spec{Image: "busybox"}, nil)
	m.base(t)
	content := bytes.Repeat([]byte("new"), 500_000)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := m.WriteFile(t.Context(), "/root/f", []byte("old"), nil); err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			if tt.expire {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 2*time.Second)
				defer cancel()
			}
			fault := tt.fault
			fault.Nth = 1
			armed := m.local.Fault(fault)
			var err error
			n := m.count(func() { err = m.WriteFile(ctx, "/root/f", content, nil) })
			if err == nil || !errors.Is(err, tt.want) && tt.want != nil || armed.Fired() != 1 {
				t.Errorf("got %v; the fault fired %d times", err, armed.Fired())
			}
			want := "old"
			if tt.done {
				want = string(content)
			}
			m.wantContent("/root/f", want)
			m.wantNoStage()
			// The commit, and the removal of the stage.
			if n.uploads != 1 || n.execs > 2 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// TestReadFaults lets the requests of reading fail.
func TestReadFaults(t *testing.T) {
	m := newFileMachine(t, smol.Spec{Image: "busybox"}, nil)
	m.base(t)
	content := bytes.Repeat([]byte("content"), 200_000)
	if err := m.WriteFile(t.Context(), "/root/f", content, nil); err != nil {
		t.Fatal(err)
	}
	const get = "GET"
	const files = "files/"
	tests := []struct {
		name  string
		fault smoltest.Fault
		opts  *smol.OpenOptions
		want  error
	}{
		{"cut at once", smoltest.Fault{Method: get, Path: files, Action: smoltest.Cut}, nil, smol.ErrUnavailable},
		{"cut early", smoltest.Fault{Method: get, Path: files, Action: smoltest.Cut, After: 1000}, nil, io.ErrUnexpectedEOF},
		{"cut late", smoltest.Fault{Method: get, Path: files, Action: smoltest.Cut, After: 1_399_999}, nil, smol.ErrUnavailable},
		{"fails", smoltest.Fault{Method: get, Path: files, Action: smoltest.Fail, Body: "what?"}, nil, nil},
		{"part, cut", smoltest.Fault{Method: get, Path: files, Action: smoltest.Cut, After: 500_000}, &smol.OpenOptions{Offset: 1}, smol.ErrUnavailable},
		{"part, command fails", smoltest.Fault{Path: "exec", Action: smoltest.Fail}, &smol.OpenOptions{Offset: 1}, nil},
		{"part, command cut", smoltest.Fault{Path: "exec", Action: smoltest.Cut, After: 10}, &smol.OpenOptions{Offset: 1, Length: 5}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fault := tt.fault
			fault.Nth = 1
			armed := m.local.Fault(fault)
			f, err := m.Open(t.Context(), "/root/f", tt.opts)
			if err == nil {
				_, err = io.Copy(io.Discard, f)
				f.Close()
			}
			var e *smol.Error
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !errors.As(err, &e) || e.Path != "/root/f" || armed.Fired() != 1 {
				t.Errorf("got %v; the fault fired %d times", err, armed.Fired())
			}
			m.wantNoStage()
		})
	}
	m.wantContent("/root/f", string(content))
}
