package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

// A service that nobody has to start: the first call finds one, or starts one. Here one runs.
func ExampleSupervise() {
	ctx := context.Background()
	url, stop := standInURL()
	defer stop()

	opts := local.ServeOptionsFromEnv()
	opts.URL = url // it is looked for here first
	sup, err := local.Supervise(opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	svc := sup.Service()
	defer svc.Close() // the last one to be closed stops a serve that was started
	m, err := svc.Create(ctx, smol.Spec{Name: "web-1"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Discard() // before the service is closed
	out, err := m.Command("echo", "hello").Output(ctx)
	fmt.Printf("%s%v %v\n", out, err, svc.URL() == url)
	// Output:
	// hello
	// <nil> true
}

// Where there is no service and none can be started, a call says so at once and has sent nothing. The next call looks again.
func ExampleSupervisor() {
	dir, err := os.MkdirTemp("", "smol")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	sup, err := local.Supervise(&local.ServeOptions{Program: filepath.Join(dir, "smolvm"), Dir: filepath.Join(dir, "run")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("check:", errors.Is(sup.Check(context.Background()), local.ErrNotServed))
	svc := sup.Service()
	defer svc.Close()
	_, err = svc.Health(context.Background())
	var e *smol.Error
	if errors.Is(err, local.ErrNotServed) && errors.As(err, &e) {
		fmt.Println(e.Code)
		fmt.Println(e.Hint)
	}
	// Output:
	// check: true
	// unavailable
	// install smolvm, or set SMOLVM to its path; or set SMOL_LOCAL_URL to where it listens
}

// A release that is too old is refused by name.
func ExampleServeOptions() {
	url, stop := standInURL() // of release 1.14.5
	defer stop()
	for _, least := range []string{"1.14.0", "2.0.0"} {
		sup, err := local.Supervise(&local.ServeOptions{URL: url, MinVersion: least})
		if err != nil {
			fmt.Println(err)
			return
		}
		svc := sup.Service()
		_, err = svc.Health(context.Background())
		fmt.Println(least, errors.Is(err, local.ErrTooOld))
		svc.Close()
	}
	// Output:
	// 1.14.0 false
	// 2.0.0 true
}

// The environment names the program, and where a service may run.
func ExampleServeOptionsFromEnv() {
	os.Setenv(local.EnvProgram, "/opt/smolvm/smolvm")
	defer os.Unsetenv(local.EnvProgram)
	fmt.Println(local.ServeOptionsFromEnv().Program)
	// Output: /opt/smolvm/smolvm
}
