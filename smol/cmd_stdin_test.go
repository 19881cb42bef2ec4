package smol_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/smol-machines/smol-go/smol"
)

// inputs counts the files of ours that wait in the machine.
func inputs(t *testing.T, m *smol.Machine) string {
	t.Helper()
	out, err := m.Shell("ls -A /workspace/.smol/.files 2>/dev/null | wc -l").Output(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestCmdStdin(t *testing.T) {
	_, _, m := simMachine(t, smol.Spec{Image: "busybox"})
	long := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16) // goes through a file of this host
	broken := errors.New("no more tape")
	cut, cancel := context.WithCancel(t.Context())
	tests := []struct {
		name  string
		stdin io.Reader
		ctx   context.Context
		want  int
		err   error
	}{
		{name: "none", want: 0},
		{name: "empty", stdin: strings.NewReader("")},
		{name: "byte by byte", stdin: iotest.OneByteReader(strings.NewReader("hello")), want: 5},
		{name: "data with the end", stdin: iotest.DataErrReader(strings.NewReader("hello")), want: 5},
		{name: "long", stdin: bytes.NewReader(long), want: len(long)},
		{name: "a pipe", stdin: io.MultiReader(bytes.NewReader(long), strings.NewReader("x")), want: len(long) + 1},
		{name: "fails", stdin: io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken)), err: broken},
		{name: "fails late", stdin: io.MultiReader(bytes.NewReader(long), iotest.ErrReader(broken)), err: broken},
		{
			name: "cancelled", ctx: cut, err: context.Canceled,
			stdin: io.MultiReader(strings.NewReader("x"), readerFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF })),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := tt.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			c := m.Command("cat")
			c.Stdin = tt.stdin
			out, err := c.Output(ctx)
			if !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			if tt.err == nil && len(out) != tt.want {
				t.Errorf("%d bytes came back, want %d", len(out), tt.want)
			}
			if tt.err != nil && c.State != nil {
				t.Error("the command ran")
			}
		})
	}
	for tries := 0; inputs(t, m) != "0" && tries < 100; tries++ { // what is dropped after Wait has returned
	}
	if n := inputs(t, m); n != "0" {
		t.Errorf("%s inputs are left in the machine", n)
	}
}

// TestCmdStdinOfAnother: the output of a command can be the input of another one of the same machine, as many as there are places.
func TestCmdStdinOfAnother(t *testing.T) {
	_, _, m := simMachine(t, smol.Spec{Image: "busybox"})
	var last bytes.Buffer
	stages := make([]*smol.Cmd, 6)
	var in io.Reader = strings.NewReader("x")
	results := make(chan error, len(stages))
	for i := range stages {
		stages[i] = m.Shell("cat; printf y")
		stages[i].Stdin = in
		if i == len(stages)-1 {
			stages[i].Stdout = &last
			go func() { results <- stages[i].Run(t.Context()) }()
			break
		}
		r, w := io.Pipe()
		stages[i].Stdout, in = w, r
		go func() { err := stages[i].Run(t.Context()); results <- err; w.CloseWithError(err) }()
	}
	for range stages {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if want := "x" + strings.Repeat("y", len(stages)); last.String() != want {
		t.Errorf("got %q, want %q", &last, want)
	}
}

// TestSimMountedWorkspace: where the host's own directory is /workspace, nothing of ours goes into it.
func TestSimMountedWorkspace(t *testing.T) {
	dir := t.TempDir()
	_, _, m := simMachine(t, smol.Spec{
		Image: "busybox", Env: map[string]string{"A": "1"}, Mounts: []smol.Mount{{Source: dir, Target: "/workspace/src"}},
	})
	c := m.Shell("cat; echo $A; ls -A /workspace/src; ls -d /workspace/.smol /var/tmp/.smol")
	c.Stdin = strings.NewReader("in ")
	out, err := c.Output(t.Context())
	if string(out) != "in 1\n/var/tmp/.smol\n" {
		t.Errorf("got %q and %v", out, err)
	}
}
