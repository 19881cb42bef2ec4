// Cloud shows what only machines in the cloud have: labels, ends of their own, events and a bill. You will see the machine found by its
// label, when it would stop and be deleted without this program, what happened to it, and what it cost.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/smol-machines/smol-go/examples/internal/fleet"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

func main() { fleet.Run(run) }

func run(ctx context.Context) (err error) {
	svc, err := cloud.New(cloud.OptionsFromEnv())
	if err != nil {
		return err
	}
	defer svc.Close()
	if err := account(ctx, svc); err != nil {
		return err
	}

	m, err := svc.Create(ctx, smol.Spec{
		Image:    "alpine:3.20",
		Labels:   map[string]string{"example": "cloud"},
		AutoStop: 10 * time.Minute, // idle so long, it stops
		TTL:      time.Hour,        // and then it is deleted, even if nobody is left to do it
	}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Discard()) }() // what is deleted already is no error

	for info, err := range svc.List(ctx, &smol.ListOptions{Labels: map[string]string{"example": "cloud"}}) {
		if err != nil {
			return err
		}
		fmt.Printf("found by its label: %s, which stops in %v unless it is used, and is deleted %v after its creation\n",
			info.Name, time.Until(info.StopsAt).Round(time.Minute), info.DeletesAt.Sub(info.CreatedAt))
	}
	return work(ctx, m)
}

// account says whose money is spent.
func account(ctx context.Context, svc *cloud.Service) error {
	a, err := svc.Account(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("the account is %s and owes $%.4f\n", a.Status, float64(a.Cost.Due)/1e6)
	return nil
}

// work takes a machine of any fleet and shows what one in the cloud has.
func work(ctx context.Context, m *smol.Machine) error {
	if err := m.Command("true").Run(ctx); err != nil {
		return err
	}
	c, ok := cloud.Extend(m)
	if !ok {
		return fmt.Errorf("%s is no machine in the cloud", m.Name())
	}
	for e, err := range c.Events(ctx, nil) {
		if err != nil {
			return err
		}
		fmt.Printf("event: %s\n", e.Message)
	}
	bill, err := c.DeleteWithUsage(ctx, nil)
	if err != nil {
		return err
	}
	fmt.Printf("it is deleted; it was up for %v and cost $%.4f\n", bill.Uptime.Round(time.Minute), float64(bill.Cost.Due)/1e6)
	return nil
}
