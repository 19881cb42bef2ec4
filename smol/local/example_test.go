package local_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// standInURL starts a stand-in of the service whose machines know echo, so that the examples run everywhere.
func standInURL() (url string, stop func()) {
	l, err := smoltest.StartLocal(&smoltest.Options{Guest: smoltest.Script(func(_ context.Context, c *smoltest.Call) int {
		if c.Argv[0] != "echo" {
			return smoltest.NotFound
		}
		fmt.Fprintln(c.Stdout, strings.Join(c.Argv[1:], " "))
		return 0
	})})
	if err != nil {
		panic(err)
	}
	return l.URL(), func() { _ = l.Close() }
}

// A machine from its creation to its end.
func Example() {
	ctx := context.Background()
	url, stop := standInURL() // smolvm itself listens at the default
	defer stop()

	svc, err := local.New(&local.Options{URL: url})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer svc.Close()
	m, err := svc.Create(ctx, smol.Spec{Name: "web-1"}, nil)
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
	url, stop := standInURL()
	defer stop()
	svc, err := local.New(&local.Options{URL: url})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer svc.Close()
	fmt.Println(svc.Supports(smol.CapabilityBranch), svc.URL() == url)
	// Output: true true
}

// Health tells the release, and whether anybody is there at all.
func ExampleHealth() {
	url, stop := standInURL()
	svc, err := local.New(&local.Options{URL: url})
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
	fmt.Println(h.Status, h.Version, h.Machines)
	stop()

	gone, err := local.New(&local.Options{URL: url, StartWindow: -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gone.Close()
	_, err = gone.Health(context.Background())
	fmt.Println(errors.Is(err, smol.ErrUnavailable))
	// Output:
	// ok 1.14.5 0
	// true
}

// Only what lies on this host is accepted, since the service asks nobody who he is.
func ExampleOptions() {
	for _, url := range []string{"localhost:8080", "http://[::1]:8080", "http://192.168.1.2:8080"} {
		svc, err := local.New(&local.Options{URL: url})
		if errors.Is(err, smol.ErrInvalid) {
			fmt.Println("refused")
			continue
		}
		fmt.Println(svc.URL())
		svc.Close()
	}
	// Output:
	// http://127.0.0.1:8080
	// http://[::1]:8080
	// refused
}

// The environment says where the service is, if anything does.
func ExampleOptionsFromEnv() {
	os.Setenv(local.EnvURL, "http://127.0.0.1:4711")
	defer os.Unsetenv(local.EnvURL)
	fmt.Println(local.OptionsFromEnv().URL)
	// Output: http://127.0.0.1:4711
}

// Wrap sees every request, here to count them.
func ExampleOptions_wrap() {
	url, stop := standInURL()
	defer stop()
	n := 0
	svc, err := local.New(&local.Options{URL: url, Wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			n++
			return next.RoundTrip(r)
		})
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer svc.Close()
	_, err = svc.Health(context.Background())
	fmt.Println(n, err)
	// Output: 1 <nil>
}

// A backend is what a fleet is made from; programs that wrap it make their own.
func ExampleBackend() {
	b, err := local.NewBackend(&local.Options{URL: "localhost:8080"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	t := smol.NewFleet(b).Backend().Traits()
	fmt.Println(t.Fleet, t.Endpoint, t.MaxInFlight)
	// Output: local http://127.0.0.1:8080 6
}
