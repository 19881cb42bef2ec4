package smol_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// A handle needs no call: it is the name of a machine, and the fleet is asked when it is used.
func ExampleMachine() {
	ctx := context.Background()
	svc, done := exampleService()
	defer done()
	if _, err := svc.Create(ctx, smol.Spec{Name: "web"}, nil); err != nil {
		fmt.Println(err)
	}

	m := svc.Machine("web")
	fmt.Println(m.Stop(ctx, nil))
	info, err := m.Info(ctx)
	fmt.Println(info.State, err)
	out, err := m.Command("echo", "a command starts it again").Output(ctx)
	fmt.Printf("%s%v\n", out, err)
	fmt.Println(m.Delete(ctx, nil))
	// Output:
	// <nil>
	// stopped <nil>
	// a command starts it again
	// <nil>
	// <nil>
}

func ExampleInfo() {
	m, done := exampleMachine(context.Background())
	defer done()

	info, err := m.Info(context.Background())
	fmt.Println(info.Name, info.State, info.Network.Blocked(), err)
	// Output: web running true <nil>
}

// A State that this version of the library does not know is passed through.
func ExampleState() {
	m, done := exampleMachine(context.Background())
	defer done()

	info, err := m.Info(context.Background())
	switch info.State {
	case smol.StateRunning:
		fmt.Println("up", err)
	case smol.StateStopped, smol.StatePaused:
		fmt.Println("down", err)
	default:
		fmt.Println("in between:", info.RawState, err)
	}
	// Output: up <nil>
}

func ExampleStartOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	// A running machine cannot become branchable; one that starts can.
	if err := m.Stop(ctx, &smol.StopOptions{}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(m.Start(ctx, &smol.StartOptions{Branchable: true}))
	_, err := m.Branch(ctx, "try-2", nil)
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
}

func ExampleStopOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	fmt.Println(m.Stop(ctx, &smol.StopOptions{}))
	fmt.Println(m.Stop(ctx, nil)) // it is stopped already
	// Output:
	// <nil>
	// <nil>
}

func ExampleDeleteOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	fmt.Println(m.Delete(ctx, &smol.DeleteOptions{Cascade: true}))
	fmt.Println(m.Discard()) // gone is gone
	// Output:
	// <nil>
	// <nil>
}

func ExampleBranchOptions() {
	ctx := context.Background()
	svc, done := exampleService()
	defer done()
	m, err := svc.Create(ctx, smol.Spec{Name: "base", Branchable: true}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := m.WriteFile(ctx, "/workspace/a.txt", []byte("from the base"), nil); err != nil {
		fmt.Println(err)
	}

	child, err := m.Branch(ctx, "try-2", &smol.BranchOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := child.ReadFile(ctx, "/workspace/a.txt")
	fmt.Printf("%s: %s, %v\n", child.Name(), data, err)
	// Output: try-2: from the base, <nil>
}

func ExampleWaitOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()
	if err := m.Stop(ctx, nil); err != nil {
		fmt.Println(err)
	}

	err := m.WaitReady(ctx, &smol.WaitOptions{Timeout: time.Minute})
	var state *smol.StateError
	fmt.Println(errors.As(err, &state), state.Got) // nobody starts it, so there is nothing to wait for
	// Output: true stopped
}

func ExampleLogOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	for _, err := range m.Logs(ctx, &smol.LogOptions{Tail: 20_000}) {
		fmt.Println(err)
	}
	// Output: smol: logs web: LogOptions.Tail is 20000; at most 10000 are allowed (invalid)
}

func ExampleImage() {
	ctx := context.Background()
	svc, done := exampleService()
	defer done()
	m, err := svc.Create(ctx, smol.Spec{Image: "alpine", Network: smol.Network{Open: true}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	img, err := m.PullImage(ctx, "python:3.12", &smol.PullOptions{})
	fmt.Println(img.Reference, err)
	// Output: docker.io/library/python:3.12 <nil>
}

func ExamplePullOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	_, err := m.PullImage(ctx, "../images/x", &smol.PullOptions{})
	fmt.Println(errors.Is(err, smol.ErrInvalid))
	// Output: true
}

// An Error has a class for the program, words for the log and a hint for a person.
func ExampleError() {
	ctx := context.Background()
	svc, done := exampleService()
	defer done()

	_, err := svc.Machine("nobody").Info(ctx)
	var e *smol.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code, e.Op, e.Machine, e.Status)
	}
	fmt.Println(errors.Is(err, smol.ErrNotFound), errors.Is(err, fs.ErrNotExist))
	// Output:
	// not_found inspect nobody 404
	// true false
}

func ExampleCode() {
	ctx := context.Background()
	svc, done := exampleService()
	defer done()

	_, err := svc.Create(ctx, smol.Spec{Name: "a/b"}, nil)
	var e *smol.Error
	if errors.As(err, &e) && e.Code == smol.CodeInvalid {
		fmt.Println(e.Message)
	}
	// Output: Spec.Name "a/b" may have only ASCII letters, digits, '_' and '-'
}

func ExampleStateError() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()
	if err := m.Stop(ctx, nil); err != nil {
		fmt.Println(err)
	}

	err := m.WaitReady(ctx, nil)
	var state *smol.StateError
	if errors.As(err, &state) {
		fmt.Println(err)
		fmt.Println("hint:", state.Hint)
	}
	// Output:
	// smol: wait web: machine is stopped, not running
	// hint: call Start
}
