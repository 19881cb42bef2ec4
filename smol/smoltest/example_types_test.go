package smoltest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// withBox calls fn with a stand-in made with the options and a machine of it.
func withBox(o *smoltest.Options, fn func(ctx context.Context, l *smoltest.Local, m *smol.Machine)) {
	ctx := context.Background()
	l, svc, err := service(o)
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
	fn(ctx, l, m)
}

// An action says its name, for the log of a test.
func ExampleAction() {
	fmt.Println(smoltest.LoseReply, smoltest.Hang)
	// Output:
	// lose reply hang
}

// The second look at the machine is refused.
func ExampleFault() {
	withBox(&smoltest.Options{Guest: smoltest.Script(greeter)}, func(ctx context.Context, l *smoltest.Local, m *smol.Machine) {
		l.Fault(smoltest.Fault{
			Method: "GET", Path: "/api/v1/machines/*", Nth: 2, Action: smoltest.Fail,
			Status: 503, ContentType: "application/json", Body: `{"error":"busy","code":"UNAVAILABLE"}`,
		})
		for range 3 {
			_, err := m.Info(ctx)
			fmt.Println(errors.Is(err, smol.ErrUnavailable))
		}
	})
	// Output:
	// false
	// true
	// false
}

// A fault that was added tells how often it hit.
func ExampleArmed() {
	withBox(&smoltest.Options{Guest: smoltest.Script(greeter)}, func(ctx context.Context, l *smoltest.Local, m *smol.Machine) {
		slow := l.Fault(smoltest.Fault{Path: "/api/v1/machines/*/exec", Nth: 1, Action: smoltest.LoseReply})
		out, err := m.Command("greet", "once").Output(ctx)
		fmt.Printf("%s%v, replies lost: %d\n", out, err, slow.Fired())
	})
	// Output:
	// hello, once
	// <nil>, replies lost: 1
}

// The guest is what machines are made of: a function here, on Linux also a sandbox.
func ExampleGuest() {
	var guest smoltest.Guest = smoltest.Script(greeter)
	withBox(&smoltest.Options{Guest: guest}, func(ctx context.Context, _ *smoltest.Local, m *smol.Machine) {
		out, err := m.Command("greet", "you").Output(ctx)
		fmt.Printf("%s%v\n", out, err)
	})
	// Output:
	// hello, you
	// <nil>
}

// Options choose the release that the stand-in imitates: one that keeps the source of a branch running, for example.
func ExampleOptions() {
	withBox(&smoltest.Options{Guest: smoltest.Script(greeter), Version: "1.22.2", TCP: true}, func(ctx context.Context, l *smoltest.Local, m *smol.Machine) {
		info, err := m.Info(ctx)
		fmt.Println(l.URL()[:17], info.State, err)
	})
	// Output:
	// http://127.0.0.1: running <nil>
}

// Requests show what went over the wire.
func ExampleRequest() {
	withBox(&smoltest.Options{Guest: smoltest.Script(greeter)}, func(ctx context.Context, l *smoltest.Local, m *smol.Machine) {
		l.ForgetRequests()
		if err := m.Delete(ctx, nil); err != nil {
			fmt.Println(err)
		}
		for _, r := range l.Requests() {
			fmt.Println(r.Method, r.Path, r.Status)
		}
	})
	// Output:
	// DELETE /api/v1/machines/box 200
}
