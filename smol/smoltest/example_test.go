package smoltest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// greeter is a machine that knows one program.
func greeter(_ context.Context, c *smoltest.Call) int {
	if c.Argv[0] != "greet" {
		return smoltest.NotFound
	}
	fmt.Fprintln(c.Stdout, "hello,", strings.Join(c.Argv[1:], " "))
	return 0
}

// service is a stand-in with a client, for examples; a test has NewLocal(t, …).Service(t).
func service(o *smoltest.Options) (*smoltest.Local, *local.Service, error) {
	l, err := smoltest.StartLocal(o)
	if err != nil {
		return nil, nil, err
	}
	svc, err := local.New(&local.Options{URL: l.URL()})
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, svc, nil
}

// A machine whose commands a function answers works on every system.
func Example() {
	ctx := context.Background()
	l, err := smoltest.StartLocal(&smoltest.Options{Guest: smoltest.Script(greeter)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	svc, err := local.New(&local.Options{URL: l.URL()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer svc.Close()

	m, err := svc.Create(ctx, smol.Spec{Name: "box"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := m.Command("greet", "machine").Output(ctx)
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// hello, machine
	// <nil>
}

// A function can do what programs do: read its input, use the machine's files, fail.
func ExampleScript() {
	ctx := context.Background()
	wordCount := func(_ context.Context, c *smoltest.Call) int {
		if c.Argv[0] != "wc" {
			return smoltest.NotFound
		}
		text, err := c.ReadFile(c.Argv[1])
		if err != nil {
			fmt.Fprintln(c.Stderr, "wc:", err)
			return 1
		}
		fmt.Fprintln(c.Stdout, len(strings.Fields(string(text))))
		return 0
	}
	l, svc, err := service(&smoltest.Options{Guest: smoltest.Script(wordCount)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	defer svc.Close()

	m, err := svc.Create(ctx, smol.Spec{Name: "box"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := m.WriteFile(ctx, "/workspace/a.txt", []byte("four words are here"), nil); err != nil {
		fmt.Println(err)
		return
	}
	out, err := m.Command("wc", "/workspace/a.txt").Output(ctx)
	fmt.Printf("%s%v\n", out, err)
	_, err = m.Command("wc", "/workspace/b.txt").Output(ctx)
	var exit *smol.ExitError
	if errors.As(err, &exit) {
		fmt.Printf("exit %d: %s", exit.Code, exit.Stderr)
	}
	// Output:
	// 4
	// <nil>
	// exit 1: wc: open /workspace/b.txt: no such file or directory
}

// A command of a function is killed as any other: its context ends.
func ExampleCall() {
	ctx := context.Background()
	echo := func(ctx context.Context, c *smoltest.Call) int {
		if _, err := io.Copy(c.Stdout, c.Stdin); err != nil {
			return 1
		}
		<-ctx.Done()
		return 1
	}
	l, svc, err := service(&smoltest.Options{Guest: smoltest.Script(echo)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	defer svc.Close()

	m, err := svc.Create(ctx, smol.Spec{Name: "box"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	cmd := m.Command("echo-and-hang")
	cmd.Stdin = strings.NewReader("first this")
	cmd.Timeout = 100 * time.Millisecond
	out, err := cmd.Output(ctx)
	var exit *smol.ExitError
	fmt.Printf("%s; timed out: %v\n", out, errors.As(err, &exit) && exit.TimedOut)
	// Output:
	// first this; timed out: true
}

// The reply of the first create is lost after the work was done. The library finds the machine instead of making a second one.
func ExampleLocal_Fault() {
	ctx := context.Background()
	l, svc, err := service(&smoltest.Options{Guest: smoltest.Script(greeter)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	defer svc.Close()

	lost := l.Fault(smoltest.Fault{Method: "POST", Path: "/api/v1/machines", Nth: 1, Action: smoltest.LoseReply})
	m, err := svc.Create(ctx, smol.Spec{Name: "box"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Name(), "lost replies:", lost.Fired(), "creates:", l.Count("POST", "/api/v1/machines"))
	// Output:
	// box lost replies: 1 creates: 1
}

// Machines outlive the service that made them.
func ExampleLocal_Restart() {
	ctx := context.Background()
	l, svc, err := service(&smoltest.Options{Guest: smoltest.Script(greeter)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	defer svc.Close()

	m, err := svc.Create(ctx, smol.Spec{Name: "box"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	l.Restart()
	out, err := m.Command("greet", "again").Output(ctx)
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// hello, again
	// <nil>
}

// Count tells how often the service was asked for something.
func ExampleLocal_Count() {
	ctx := context.Background()
	l, svc, err := service(&smoltest.Options{Guest: smoltest.Script(greeter)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	defer svc.Close()

	m, err := svc.Create(ctx, smol.Spec{Name: "box"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	l.ForgetRequests()
	if err := m.Command("greet").Run(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("execs:", l.Count("POST", "/api/v1/machines/*/exec"))
	// Output:
	// execs: 1
}
