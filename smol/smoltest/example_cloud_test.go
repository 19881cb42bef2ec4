package smoltest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// withCloud calls fn with a stand-in of the cloud made with the options, and a client with the key, or with the stand-in's own if that is empty.
func withCloud(o *smoltest.CloudOptions, key string, fn func(ctx context.Context, c *smoltest.Cloud, svc *cloud.Service)) {
	o.Guest = smoltest.Script(greeter)
	c, err := smoltest.StartCloud(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if key == "" {
		key = c.Token()
	}
	svc, err := cloud.New(&cloud.Options{URL: c.URL(), Token: key})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer svc.Close()
	fn(context.Background(), c, svc)
}

// code is the class of an error.
func code(err error) smol.Code {
	var e *smol.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code
}

// The same code runs a command on a machine of the cloud.
func ExampleCloud() {
	withCloud(&smoltest.CloudOptions{}, "", func(ctx context.Context, _ *smoltest.Cloud, svc *cloud.Service) {
		m, err := svc.Create(ctx, smol.Spec{Name: "box", Image: "alpine"}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer m.Discard()
		out, err := m.Command("greet", "cloud").Output(ctx)
		fmt.Printf("%s%v\n", out, err)
	})
	// Output:
	// hello, cloud
	// <nil>
}

// An account without credit is refused whatever costs.
func ExampleCloudOptions() {
	withCloud(&smoltest.CloudOptions{Credit: -1}, "", func(ctx context.Context, c *smoltest.Cloud, svc *cloud.Service) {
		_, err := svc.Create(ctx, smol.Spec{Name: "box", Image: "alpine"}, nil)
		var e *smol.Error
		fmt.Println(errors.As(err, &e) && e.Status == 402, c.Count("POST", "/v1/machines"))
	})
	// Output:
	// true 1
}

// A key that may only read.
func ExampleCloudKey() {
	o := &smoltest.CloudOptions{Keys: []smoltest.CloudKey{{Token: "smk_reader", Scopes: []string{"machine:read"}}}}
	withCloud(o, "smk_reader", func(ctx context.Context, _ *smoltest.Cloud, svc *cloud.Service) {
		_, err := svc.Create(ctx, smol.Spec{Name: "box", Image: "alpine"}, nil)
		fmt.Println(code(err))
	})
	// Output:
	// permission_denied
}

// A plan of one machine.
func ExampleCloudPlan() {
	o := &smoltest.CloudOptions{Plan: &smoltest.CloudPlan{Name: "Tiny", MaxMachines: 1}}
	withCloud(o, "", func(ctx context.Context, _ *smoltest.Cloud, svc *cloud.Service) {
		for _, name := range []string{"first", "second"} {
			_, err := svc.Create(ctx, smol.Spec{Name: name, Image: "alpine"}, nil)
			fmt.Println(name, err == nil)
		}
	})
	// Output:
	// first true
	// second false
}

// Errors keep their class whatever the shape of their bodies.
func ExampleErrorStyle() {
	for _, style := range []smoltest.ErrorStyle{smoltest.ErrorsProblem, smoltest.ErrorsText, smoltest.ErrorsEmpty} {
		withCloud(&smoltest.CloudOptions{Errors: style}, "smk_wrong", func(ctx context.Context, _ *smoltest.Cloud, svc *cloud.Service) {
			_, err := svc.Machine("box").Info(ctx)
			fmt.Println(style, code(err))
		})
	}
	// Output:
	// problem unauthenticated
	// text unauthenticated
	// empty unauthenticated
}

// A release that knows little of what the newest does.
func ExampleOldCloud() {
	withCloud(&smoltest.CloudOptions{Old: smoltest.OldestCloud()}, "", func(ctx context.Context, _ *smoltest.Cloud, svc *cloud.Service) {
		m, err := svc.Create(ctx, smol.Spec{Name: "box", Image: "alpine"}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		info, err := m.Info(ctx)
		fmt.Println(info.State, info.RawState, err)
	})
	// Output:
	// running running <nil>
}

// Time passes when the test says so: the machine's life is over an hour later.
func ExampleClock() {
	clock := smoltest.NewClock(time.Time{})
	withCloud(&smoltest.CloudOptions{Clock: clock}, "", func(ctx context.Context, _ *smoltest.Cloud, svc *cloud.Service) {
		m, err := svc.Create(ctx, smol.Spec{Name: "box", Image: "alpine", TTL: time.Hour}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		clock.Advance(61 * time.Minute)
		_, err = m.Info(ctx)
		fmt.Println(errors.Is(err, smol.ErrNotFound))
	})
	// Output:
	// true
}
