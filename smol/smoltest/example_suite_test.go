package smoltest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// withSuite calls fn with options for a stand-in with machines that know the commands of the suite.
func withSuite(fn func(o *smoltest.BackendOptions)) {
	l, err := smoltest.StartLocal(&smoltest.Options{Guest: smoltest.BackendGuest()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	fn(&smoltest.BackendOptions{Fault: l.Fault, New: func(tb testing.TB) *smol.Fleet {
		svc, err := local.New(&local.Options{URL: l.URL()})
		if err != nil {
			tb.Fatalf("client: %v", err)
		}
		tb.Cleanup(func() { _ = svc.Close() })
		return svc.Fleet
	}})
}

// kind is a backend whose commands always succeed.
type kind struct{ smol.Backend }

func (k kind) Exec(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
	res, err := k.Backend.Exec(ctx, id, req)
	if err == nil {
		res.ExitCode = 0
	}
	return res, err
}

// A test has TestBackend(t, options); these options restrict it to the rows about files.
func ExampleBackendOptions() {
	withSuite(func(o *smoltest.BackendOptions) {
		o.Only = "files/"
		failures := 0
		for f := range smoltest.CheckBackend(context.Background(), o) {
			fmt.Println(f)
			failures++
		}
		fmt.Println("failures:", failures)
	})
	// Output:
	// failures: 0
}

// The suite tells which promise a fleet breaks.
func ExampleFailure() {
	withSuite(func(o *smoltest.BackendOptions) {
		whole := o.New
		o.New = func(tb testing.TB) *smol.Fleet { return smol.NewFleet(kind{whole(tb).Backend()}) }
		o.Only = "exec/exit codes"
		for f := range smoltest.CheckBackend(context.Background(), o) {
			fmt.Println(f.Row)
			break
		}
	})
	// Output:
	// exec/exit codes
}

// A mutant is caught by the row about what is wrong with it.
func ExampleMutant() {
	withSuite(func(o *smoltest.BackendOptions) {
		whole := o.New
		for _, m := range smoltest.Mutants() {
			if m.Name != "CR lost" {
				continue
			}
			o.New = func(tb testing.TB) *smol.Fleet { return smol.NewFleet(m.Wrap(whole(tb).Backend())) }
			o.Only = "exact bytes"
			for f := range smoltest.CheckBackend(context.Background(), o) {
				fmt.Printf("%s: %s\n", m.What, f.Row)
				break
			}
		}
	})
	// Output:
	// CR LF becomes LF: exec/streams apart, exact bytes
}
