package smol_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// exampleService is what the examples run on: a stand-in of the local service, whose machines know a few programs. A program of yours has
// local.New(local.OptionsFromEnv()) in its place.
func exampleService() (svc *local.Service, done func()) {
	l, err := smoltest.StartLocal(&smoltest.Options{Guest: smoltest.Script(examplePrograms)})
	if err != nil {
		panic(err)
	}
	svc, err = local.New(&local.Options{URL: l.URL()})
	if err != nil {
		panic(err)
	}
	return svc, func() {
		if err := errors.Join(svc.Close(), l.Close()); err != nil {
			panic(err)
		}
	}
}

// exampleMachine is a machine on it.
func exampleMachine(ctx context.Context) (m *smol.Machine, done func()) {
	svc, done := exampleService()
	m, err := svc.Create(ctx, smol.Spec{Name: "web"}, nil)
	if err != nil {
		panic(err)
	}
	return m, done
}

// examplePrograms are echo, cat, env and sleep, and a program that fails.
func examplePrograms(ctx context.Context, c *smoltest.Call) int {
	switch c.Argv[0] {
	case "echo":
		fmt.Fprintln(c.Stdout, strings.Join(c.Argv[1:], " "))
	case "cat":
		if _, err := io.Copy(c.Stdout, c.Stdin); err != nil {
			return 1
		}
	case "env":
		fmt.Fprintln(c.Stdout, c.Getenv(c.Argv[1]), "in", c.Dir)
	case "sleep":
		<-ctx.Done()
	case "fail":
		fmt.Fprintln(c.Stderr, "no such luck")
		return 3
	default:
		return smoltest.NotFound
	}
	return 0
}

func Example() {
	ctx := context.Background()
	svc, done := exampleService() // in your program: local.New(local.OptionsFromEnv())
	defer done()

	m, err := svc.Create(ctx, smol.Spec{Name: "web"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Discard()

	out, err := m.Command("echo", "hello from", m.Name()).Output(ctx)
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// hello from web
	// <nil>
}

// Code that takes a Fleet works on every fleet.
func ExampleFleet() {
	ctx := context.Background()
	svc, done := exampleService()
	defer done()

	count := func(fleet *smol.Fleet) (n int, err error) {
		for _, err := range fleet.List(ctx, nil) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	for _, name := range []string{"a", "b"} {
		if _, err := svc.Create(ctx, smol.Spec{Name: name}, nil); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(count(svc.Fleet))
	// Output: 2 <nil>
}

// RunOnce borrows a machine for one command.
func ExampleFleet_RunOnce() {
	ctx := context.Background()
	svc, done := exampleService()
	defer done()

	res, err := svc.RunOnce(ctx, smol.Spec{}, []string{"cat"}, &smol.RunOnceOptions{Stdin: strings.NewReader("as it was\n")})
	fmt.Printf("%s%v\n", res.Stdout, err)
	// Output:
	// as it was
	// <nil>
}

func ExampleRunOnceOptions() {
	svc, done := exampleService()
	defer done()

	res, err := svc.RunOnce(context.Background(), smol.Spec{}, []string{"env", "GREETING"}, &smol.RunOnceOptions{
		Env:    []string{"GREETING=hi"},
		Dir:    "/tmp",
		Stdout: os.Stdout,
	})
	fmt.Println(len(res.Stdout), err)
	// Output:
	// hi in /tmp
	// 0 <nil>
}

// The result tells what the command wrote also when it failed.
func ExampleRunResult() {
	svc, done := exampleService()
	defer done()

	res, err := svc.RunOnce(context.Background(), smol.Spec{Name: "box"}, []string{"fail"}, nil)
	fmt.Printf("%s: %v, %s", res.Machine, err, res.Stderr)
	fmt.Println(res.State.ExitCode)
	// Output:
	// box: exit status 3, no such luck
	// 3
}

// The zero value of every field is a default, and the safe one.
func ExampleSpec() {
	ctx := context.Background()
	svc, done := exampleService()
	defer done()

	m, err := svc.Create(ctx, smol.Spec{
		Name: "builder",
		Env:  map[string]string{"STAGE": "test"},
		Dir:  "/workspace",
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := m.Command("env", "STAGE").Output(ctx)
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// test in /workspace
	// <nil>
}

// A Spec can be checked without a fleet.
func ExampleSpec_Validate() {
	spec := smol.Spec{Name: "web", Ports: []smol.Port{{Guest: 80}, {Guest: 65536}}}
	fmt.Println(spec.Validate())
	// Output: smol: Spec.Ports[1].Guest is 65536; allowed is 1 to 65535 (invalid)
}

func ExampleResources() {
	svc, done := exampleService()
	defer done()

	m, err := svc.Create(context.Background(), smol.Spec{Resources: smol.Resources{CPUs: 2, MemoryMiB: 512}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	info, err := m.Info(context.Background())
	fmt.Println(info.Resources.CPUs, info.Resources.MemoryMiB, err)
	// Output: 2 512 <nil>
}

// Egress is blocked unless it is asked for.
func ExampleNetwork() {
	fmt.Println(smol.Network{}.Blocked())
	fmt.Println(smol.Network{AllowHosts: []string{"packages.example.com"}}.Blocked())
	fmt.Println(smol.Network{Open: true}.Blocked())
	// Output:
	// true
	// false
	// false
}

// The library picks a free port of the host.
func ExamplePort() {
	svc, done := exampleService()
	defer done()

	m, err := svc.Create(context.Background(), smol.Spec{Ports: []smol.Port{{Guest: 8080}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	info, err := m.Info(context.Background())
	fmt.Println(info.Ports[0].Guest, info.Ports[0].Host > 0, err)
	// Output: 8080 true <nil>
}

func ExampleMount() {
	dir, err := os.MkdirTemp("", "smol-example-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	svc, done := exampleService()
	defer done()

	m, err := svc.Create(context.Background(), smol.Spec{
		Mounts: []smol.Mount{{Source: dir, Target: "/src", ReadOnly: true}},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	info, err := m.Info(context.Background())
	fmt.Println(info.Mounts[0].Target, info.Mounts[0].ReadOnly, err)
	// Output: /src true <nil>
}

func ExampleCreateOptions() {
	svc, done := exampleService()
	defer done()

	_, err := svc.Create(context.Background(), smol.Spec{Name: "web"}, &smol.CreateOptions{
		ReadyTimeout: time.Minute,
		OnState:      func(s smol.State) { fmt.Println(s) },
	})
	fmt.Println(err)
	// Output:
	// running
	// <nil>
}

func ExampleListOptions() {
	svc, done := exampleService()
	defer done()

	for _, err := range svc.List(context.Background(), &smol.ListOptions{Labels: map[string]string{"team": "a"}}) {
		fmt.Println(errors.Is(err, errors.ErrUnsupported)) // the local fleet has no labels
	}
	// Output: true
}

// Whether a fleet can do something can be asked before.
func ExampleCapability() {
	svc, done := exampleService()
	defer done()

	fmt.Println(svc.Supports(smol.CapabilityBranch), svc.Supports("time travel"))
	// Output: true false
}
