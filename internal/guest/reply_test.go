package guest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/smol-machines/smol-go/internal/guest"
)

func TestParseReply(t *testing.T) {
	all := guest.View{Budget: 100}
	for _, row := range []struct {
		stdout string
		view   guest.View
		want   *guest.Reply
		err    error
	}{
		{stdout: "smol1 exited 3 2 1 12.34 13.05 /b\nhix", view: all, want: &guest.Reply{
			State: guest.Exited, Code: 3, StdoutSize: 2, StderrSize: 1, Base: "/b",
			Started: 12340 * time.Millisecond, Ended: 13050 * time.Millisecond,
			Stdout: guest.Part{Data: []byte("hi")}, Stderr: guest.Part{Data: []byte("x")},
		}},
		{stdout: "smol1 running - 5 0 1.00 2.00 /b\nlo", view: guest.View{Stdout: 3, Budget: 9}, want: &guest.Reply{
			State: guest.Running, StdoutSize: 5, Base: "/b", Started: time.Second, Ended: 2 * time.Second,
			Stdout: guest.Part{Offset: 3, Data: []byte("lo")},
		}},
		{stdout: "smol1 signaled 137 9 0 1.00 2.00 /b\n012789", view: guest.View{Budget: 5, Clip: true, Stderr: 4}, want: &guest.Reply{
			State: guest.Signaled, Code: 137, StdoutSize: 9, Base: "/b", Started: time.Second, Ended: 2 * time.Second,
			Stdout: guest.Part{Data: []byte("01278"), Head: 3, Dropped: 4}, Stderr: guest.Part{Offset: 4},
		}},
		{stdout: "smol1 lost - 0 0 - 2.00 /b\n", want: &guest.Reply{State: guest.Lost, Base: "/b", Ended: 2 * time.Second}},
		{stdout: "smol1 timed_out 124 7 7 1.00 2.00 /b\n", want: &guest.Reply{
			State: guest.TimedOut, Code: 124, StdoutSize: 7, StderrSize: 7, Base: "/b", Started: time.Second, Ended: 2 * time.Second,
		}},
		{stdout: "smol1 ready - 0 0 1.00 1.00 /b\n", want: &guest.Reply{State: guest.Ready, Base: "/b", Started: time.Second, Ended: time.Second}},
		{stdout: "smol1 error nojob\n", err: guest.ErrNoJob},
		{stdout: "smol1 error nobase\n", err: guest.ErrNoBase},
		{stdout: "smol1 exited 0 2 1 1.00 2.00 /b\nhi", view: all, err: guest.ErrShort},
		{stdout: "smol1 exited 0 2 0 1.00 2.00 /b\n", view: all, err: guest.ErrShort},
		{stdout: "", err: guest.ErrNoShell},
		{stdout: "sh: not found\n", err: guest.ErrNoShell},
		{stdout: "smol1 exited 0 0 0 1.00 2.00 /b", err: guest.ErrNoShell},
		{stdout: "smol2 exited 0 0 0 1.00 2.00 /b\n", err: guest.ErrNoShell},
		{stdout: "smol1 error what\n", err: guest.ErrNoShell},
		{stdout: "smol1 dancing 0 0 0 1.00 2.00 /b\n", err: guest.ErrNoShell},
		{stdout: "smol1 exited - 0 0 1.00 2.00 /b\n", want: &guest.Reply{State: guest.Lost, Base: "/b"}},
		{stdout: "smol1 exited 0 0 0 1 2.00 /b\n", want: &guest.Reply{State: guest.Lost, Base: "/b"}},
		{stdout: "smol1 error stuck /b\n", err: guest.ErrStuck},
		{stdout: "smol1 error stuck /b /c\n", err: guest.ErrNoShell},
		{stdout: "smol1 exited 0 -1 0 1.00 2.00 /b\n", err: guest.ErrNoShell},
		{stdout: "smol1 exited 0 0 99999999999999999999 1.00 2.00 /b\n", err: guest.ErrNoShell},
		{stdout: "smol1 running - 0 0 1 2.00 /b\n", err: guest.ErrNoShell},
		{stdout: "smol1 exited 0 0 0 1.00 /b\n", err: guest.ErrNoShell},
	} {
		got, err := guest.ParseReply([]byte(row.stdout), row.view)
		if !errors.Is(err, row.err) || (err == nil) != (row.err == nil) {
			t.Errorf("%q: %v, want %v", row.stdout, err, row.err)
		}
		if diff := cmp.Diff(row.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q: %s", row.stdout, diff)
		}
	}
}

// What a guest in Go encodes is what the client reads, for every view.
func TestEncodeReply(t *testing.T) {
	stdout, stderr := []byte("0123456789\nabc\x00"), []byte("errors\n")
	for _, state := range []guest.State{guest.Running, guest.Exited, guest.TimedOut, guest.Signaled, guest.Lost} {
		for _, clip := range []bool{false, true} {
			for _, budget := range []int64{0, 1, 2, 3, 6, 11, 12, 19} {
				for _, offset := range []int64{0, 1, 2, 7, 11, 13, 14, 15, 19} {
					v := guest.View{Stdout: offset, Stderr: offset / 2, Budget: budget, Clip: clip}
					want := &guest.Reply{State: state, Started: time.Second, Ended: 12 * time.Minute, Base: "/b"}
					if state == guest.Exited {
						want.Code = 9
					}
					want.Cut(stdout, stderr, v)
					got, err := guest.ParseReply(want.Encode(), v)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
						t.Fatalf("%+v: %s", v, diff)
					}
				}
			}
		}
	}
	for _, want := range []error{guest.ErrNoJob, guest.ErrNoBase} {
		if _, err := guest.ParseReply(guest.EncodeError(fmt.Errorf("x: %w", want)), guest.View{}); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if got := guest.EncodeError(errors.New("other")); got != nil {
		t.Errorf("%q", got)
	}
}

func TestPartNext(t *testing.T) {
	var r guest.Reply
	r.Cut([]byte(strings.Repeat("x", 100)), nil, guest.View{Stdout: 10, Budget: 9, Clip: true})
	if got := r.Stdout.Next(); got != 100 {
		t.Errorf("%d after a clipped part", got)
	}
	r.Cut([]byte(strings.Repeat("x", 100)), nil, guest.View{Stdout: 10, Budget: 9})
	if got := r.Stdout.Next(); got != 19 {
		t.Errorf("%d after a part", got)
	}
}
