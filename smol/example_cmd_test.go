package smol_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// Cmd is used as that of os/exec.
func ExampleCmd() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	c := m.Command("cat")
	c.Stdin = strings.NewReader("some input\n")
	c.Stdout = os.Stdout
	fmt.Println(c.Run(ctx))
	// Output:
	// some input
	// <nil>
}

// The context of Start bounds the command.
func ExampleCmd_Start() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m, done := exampleMachine(ctx)
	defer done()

	c := m.Command("sleep", "1000")
	if err := c.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	cancel()
	fmt.Println(c.Wait())
	// Output: smol: run web: context canceled
}

func ExampleCmdState() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	c := m.Command("sleep", "1000")
	c.Timeout = 50 * time.Millisecond
	fmt.Println(c.Run(ctx))
	fmt.Println(c.State.TimedOut, c.State.ExitCode, c.State.Missing == "")
	// Output:
	// timed out after 50ms
	// true 124 true
}

func ExampleExitError() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	err := m.Command("fail").Run(ctx)
	var exit *smol.ExitError
	if errors.As(err, &exit) {
		fmt.Printf("%v, %d: %s", err, exit.Code, exit.Stderr)
	}
	// Output: exit status 3, 3: no such luck
}

func ExampleSignal() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	c := m.Command("sleep", "1000")
	if err := c.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if err := c.Signal(ctx, smol.Terminate); err != nil {
		fmt.Println(err)
	}
	fmt.Println(c.Wait(), smol.Terminate.Number())
	// Output: signal: TERM 15
}

// A stream is for text that a person watches; Cmd gives exact bytes.
func ExampleEvent() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	for ev, err := range m.Stream(ctx, []string{"fail"}, nil) {
		switch {
		case err != nil:
			fmt.Println(err)
		case ev.Exited:
			fmt.Println("exit code", ev.ExitCode)
		default:
			fmt.Print(ev.Stream, ": ", ev.Text)
		}
	}
	// Output:
	// stderr: no such luck
	// exit code 3
}

func ExampleStreamOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	opts := &smol.StreamOptions{Env: []string{"GREETING=hi"}, Dir: "/tmp"}
	for ev, err := range m.Stream(ctx, []string{"env", "GREETING"}, opts) {
		if err != nil {
			fmt.Println(err)
		}
		fmt.Print(ev.Text)
	}
	// Output: hi in /tmp
}
