package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// standInOptions starts a stand-in of the service whose machines know echo, so that the examples run everywhere and cost nothing.
func standInOptions() (o *cloud.Options, stop func()) {
	c, err := smoltest.StartCloud(&smoltest.CloudOptions{Guest: smoltest.Script(func(_ context.Context, c *smoltest.Call) int {
		if c.Argv[0] != "echo" {
			return smoltest.NotFound
		}
		fmt.Fprintln(c.Stdout, strings.Join(c.Argv[1:], " "))
		return 0
	})})
	if err != nil {
		panic(err)
	}
	return &cloud.Options{URL: c.URL(), Token: c.Token()}, func() { _ = c.Close() }
}

// exampleMachine makes a machine of the stand-in.
func exampleMachine(ctx context.Context) (m *cloud.Machine, stop func()) {
	o, stopService := standInOptions()
	svc, err := cloud.New(o)
	if err != nil {
		panic(err)
	}
	made, err := svc.Create(ctx, smol.Spec{Name: "web-1", Image: "alpine"}, nil)
	if err != nil {
		panic(err)
	}
	m, _ = cloud.Extend(made)
	return m, func() { _ = svc.Close(); stopService() }
}

// A machine from its creation to its end. The time to live ends its bill even if nobody is left to delete it.
func Example() {
	ctx := context.Background()
	o, stop := standInOptions() // a program would use OptionsFromEnv
	defer stop()

	svc, err := cloud.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer svc.Close()
	m, err := svc.Create(ctx, smol.Spec{Image: "python:3.12-alpine", TTL: time.Hour}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Discard()
	out, err := m.Command("echo", "hello").Output(ctx)
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// hello
	// <nil>
}

// The service is a fleet and says more about itself than a fleet does.
func ExampleService() {
	o, stop := standInOptions()
	defer stop()
	svc, err := cloud.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer svc.Close()
	a, err := svc.Account(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(svc.Supports(smol.CapabilityBranch), a.Status, a.Cost.Due)
	// Output: true active 0
}

// What only machines in the cloud have is on a handle of their own.
func ExampleService_Machine() {
	ctx := context.Background()
	o, stop := standInOptions()
	defer stop()
	svc, err := cloud.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer svc.Close()
	_, err = svc.Machine("nobody").Usage(ctx)
	fmt.Println(errors.Is(err, smol.ErrNotFound))
	// Output: true
}

// Deleting a machine settles its bill.
func ExampleMachine() {
	ctx := context.Background()
	m, stop := exampleMachine(ctx)
	defer stop()
	bill, err := m.DeleteWithUsage(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bill.Machines, bill.Cost.Due < 1_000_000)
	// Output: 1 true
}

// Code that takes a fleet finds out whether a machine of it lies in the cloud.
func ExampleExtend() {
	ctx := context.Background()
	m, stop := exampleMachine(ctx)
	defer stop()
	var neutral *smol.Machine = m.Machine
	if c, ok := cloud.Extend(neutral); ok {
		_, err := c.Usage(ctx)
		fmt.Println(c.Name(), err)
	}
	// Output: web-1 <nil>
}

// What has been used so far is a lower bound while a machine runs.
func ExampleMachineUsage() {
	ctx := context.Background()
	m, stop := exampleMachine(ctx)
	defer stop()
	u, err := m.Usage(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u.Uptime < time.Minute, u.EgressGB, u.Cost.Total >= u.Cost.Due)
	// Output: true 0 true
}

// The figures of an account are those of all its machines, gone ones too.
func ExampleUsage() {
	u := cloud.Usage{Machines: 3, Uptime: 90 * time.Minute, CPUHours: 1.5}
	fmt.Printf("%d machines, %v up, %.1f CPU hours\n", u.Machines, u.Uptime, u.CPUHours)
	// Output: 3 machines, 1h30m0s up, 1.5 CPU hours
}

// Budgets are held against what is due, which is less than the total when there is credit.
func ExampleCost() {
	c := cloud.Cost{Total: 120_000, CreditApplied: 100_000, Due: 20_000}
	const budget = cloud.Micros(50_000)
	fmt.Println(c.Due <= budget)
	// Output: true
}

// A million of them is a dollar.
func ExampleMicros() {
	fmt.Printf("$%.4f\n", float64(cloud.Micros(12_500))/1e6)
	// Output: $0.0125
}

// An account without a budget has none to tell.
func ExampleAccount() {
	o, stop := standInOptions()
	defer stop()
	svc, err := cloud.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer svc.Close()
	a, err := svc.Account(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	if a.BudgetLeft == nil || *a.BudgetLeft > 0 {
		fmt.Println("may go on")
	}
	// Output: may go on
}

// The service answers without a key, which shows that it is there.
func ExampleHealth() {
	o, stop := standInOptions()
	defer stop()
	svc, err := cloud.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer svc.Close()
	h, err := svc.Health(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.APIVersion, len(h.Capabilities) > 0)
	// Output: 2 true
}

// What happened to a machine is kept in order.
func ExampleEvent() {
	ctx := context.Background()
	m, stop := exampleMachine(ctx)
	defer stop()
	n := 0
	for e, err := range m.Events(ctx, nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if n++; e.Message == "" {
			fmt.Println("an event without words")
		}
	}
	fmt.Println(n > 0)
	// Output: true
}

// Whoever has seen some events asks for those that follow.
func ExampleEventsOptions() {
	ctx := context.Background()
	m, stop := exampleMachine(ctx)
	defer stop()
	var last string
	for e, err := range m.Events(ctx, nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		last = e.ID
	}
	if err := m.Stop(ctx, nil); err != nil {
		fmt.Println(err)
		return
	}
	n := 0
	for range m.Events(ctx, &cloud.EventsOptions{After: last}) {
		n++
	}
	fmt.Println(n > 0)
	// Output: true
}

// The key goes over TLS, or stays on this host.
func ExampleOptions() {
	for _, url := range []string{"https://cloud.example.com", "http://127.0.0.1:8080", "http://cloud.example.com"} {
		o := &cloud.Options{URL: url, Token: "smk_secret"}
		svc, err := cloud.New(o)
		if errors.Is(err, smol.ErrInvalid) {
			fmt.Println("refused")
			continue
		}
		fmt.Println(o)
		svc.Close()
	}
	// Output:
	// cloud.Options{https://cloud.example.com, token set}
	// cloud.Options{http://127.0.0.1:8080, token set}
	// refused
}

// Wrap sees every request and every repetition of one, here to count them.
func ExampleOptions_wrap() {
	o, stop := standInOptions()
	defer stop()
	n := 0
	o.Wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			n++
			return next.RoundTrip(r)
		})
	}
	svc, err := cloud.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer svc.Close()
	_, err = svc.Health(context.Background())
	fmt.Println(n, err)
	// Output: 1 <nil>
}

// A key in the environment is consent to use it; a login that is stored on this host is not.
func ExampleOptionsFromEnv() {
	os.Setenv(cloud.EnvToken, "smk_secret")
	os.Setenv(cloud.EnvURL, "https://cloud.example.com")
	defer os.Unsetenv(cloud.EnvToken)
	defer os.Unsetenv(cloud.EnvURL)
	fmt.Println(cloud.OptionsFromEnv())
	// Output: cloud.Options{https://cloud.example.com, token set}
}

// A backend is what a fleet is made from; programs that wrap it make their own.
func ExampleBackend() {
	b, err := cloud.NewBackend(&cloud.Options{Token: "smk_secret"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	t := smol.NewFleet(b).Backend().Traits()
	fmt.Println(t.Fleet, t.Endpoint, t.KeepsEnv)
	// Output: cloud https://api.smolmachines.com true
}
