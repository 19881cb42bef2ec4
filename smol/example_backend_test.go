package smol_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/smol-machines/smol-go/smol"
)

// counting is a backend that counts the commands that go through it.
type counting struct {
	smol.Backend
	execs atomic.Int64
}

func (c *counting) Exec(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
	c.execs.Add(1)
	return c.Backend.Exec(ctx, id, req)
}

// Unwrap lets the fleet find what the backend inside can do besides.
func (c *counting) Unwrap() smol.Backend { return c.Backend }

// A backend can be wrapped, to count calls for example.
func ExampleBackend() {
	ctx := context.Background()
	svc, done := exampleService()
	defer done()

	b := &counting{Backend: svc.Backend()}
	fleet := smol.NewFleet(b)
	m, err := fleet.Create(ctx, smol.Spec{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	before := b.execs.Load()
	err = m.Command("echo").Run(ctx)
	fmt.Println(b.execs.Load()-before, err)
	fmt.Println(fleet.Supports(smol.CapabilityStream))
	// Output:
	// 1 <nil>
	// true
}

func ExampleTraits() {
	svc, done := exampleService()
	defer done()

	t := svc.Backend().Traits()
	fmt.Println(t.Fleet, t.MaxInFlight, t.KeepsEnv)
	// Output: local 6 false
}

// A command on the fleet's own wire is what Cmd is built on.
func ExampleExecRequest() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	b := m.Fleet().Backend()
	res, err := b.Exec(ctx, m.ID(), &smol.ExecRequest{Argv: []string{"env", "A"}, Env: []string{"A=1"}, Dir: "/tmp"})
	fmt.Printf("%s%v\n", res.Stdout, err)
	// Output:
	// 1 in /tmp
	// <nil>
}

func ExampleExecResult() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	res, err := m.Fleet().Backend().Exec(ctx, m.ID(), &smol.ExecRequest{Argv: []string{"fail"}})
	fmt.Printf("%d %s%v\n", res.ExitCode, res.Stderr, err) // a command that fails is no error here
	// Output:
	// 3 no such luck
	// <nil>
}

// What a fleet can do beyond the Backend interface it shows by further interfaces.
func ExampleBranchBackend() {
	svc, done := exampleService()
	defer done()

	_, branches := svc.Backend().(smol.BranchBackend)
	_, branches2 := smol.Backend(&counting{Backend: svc.Backend()}).(smol.BranchBackend) // hidden, but Supports looks inside
	fmt.Println(branches, branches2, smol.NewFleet(&counting{Backend: svc.Backend()}).Supports(smol.CapabilityBranch))
	// Output: true false true
}

func ExampleImageBackend() {
	svc, done := exampleService()
	defer done()

	_, ok := svc.Backend().(smol.ImageBackend)
	fmt.Println(ok)
	// Output: true
}

func ExampleFileBackend() {
	svc, done := exampleService()
	defer done()

	_, ok := svc.Backend().(smol.FileBackend)
	fmt.Println(ok)
	// Output: true
}

func ExampleStreamBackend() {
	svc, done := exampleService()
	defer done()

	_, ok := svc.Backend().(smol.StreamBackend)
	fmt.Println(ok)
	// Output: true
}

// minimal is a fleet that can do no more than it must.
type minimal struct{ smol.Backend }

func ExampleLogBackend() {
	svc, done := exampleService()
	defer done()

	for _, err := range smol.NewFleet(minimal{svc.Backend()}).Machine("web").Logs(context.Background(), nil) {
		fmt.Println(errors.Is(err, errors.ErrUnsupported), err)
	}
	// Output: true smol: logs web: the local fleet has no console (unsupported)
}

func ExampleOriginBackend() {
	svc, done := exampleService()
	defer done()

	_, ok := svc.Backend().(smol.OriginBackend)
	fmt.Println(ok) // the local fleet shares the clock of this host, which is enough
	// Output: false
}
