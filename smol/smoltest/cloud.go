package smoltest

import (
	"testing"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/host"
	"github.com/smol-machines/smol-go/smol/cloud"
)

// Cloud is a stand-in of the cloud service, on a port of 127.0.0.1. It is safe for concurrent use.
type Cloud struct {
	standIn
	host  *host.Cloud
	token string
}

// NewCloud starts a stand-in of the cloud, which ends with the test and takes its machines with it. It fails the test if that cannot be done,
// or if a machine could not be ended.
func NewCloud(tb testing.TB, o *CloudOptions) *Cloud {
	tb.Helper()
	g := o.guestOr()
	c, err := startCloud(o, g.guest(tb))
	if err != nil {
		tb.Fatalf("smoltest: start the stand-in of the cloud: %v", err)
	}
	c.bind(tb)
	return c
}

// StartCloud starts a stand-in of the cloud where there is no test: in TestMain, in an Example, in a program. It must be closed. Where the
// system cannot make the machines of [Sandbox] it returns why and what to do about it.
func StartCloud(o *CloudOptions) (*Cloud, error) {
	g := o.guestOr().alone()
	if err := g.Supported(); err != nil {
		return nil, err
	}
	c, err := startCloud(o, g)
	if err != nil {
		return nil, err
	}
	c.fail = c.keep
	return c, nil
}

func startCloud(o *CloudOptions, g sim.Guest) (*Cloud, error) {
	if o == nil {
		o = &CloudOptions{}
	}
	if err := checkFaults(o.Faults); err != nil {
		return nil, err
	}
	opts, err := o.server()
	if err != nil {
		return nil, err
	}
	opts.Guest = g
	h, err := host.StartCloud(&host.CloudOptions{Server: opts})
	if err != nil {
		return nil, err
	}
	c := &Cloud{standIn: standIn{process: h}, host: h, token: opts.Token}
	c.arm(o.Faults)
	return c, nil
}

// Token is the key that the stand-in accepts and that may do everything a key may; SMOL_CLOUD_TOKEN takes it. It is worth nothing elsewhere.
func (c *Cloud) Token() string { return c.token }

// Service returns a client of the stand-in, which is closed at the end of the test.
func (c *Cloud) Service(tb testing.TB) *cloud.Service {
	tb.Helper()
	svc, err := cloud.New(&cloud.Options{URL: c.URL(), Token: c.token})
	if err != nil {
		tb.Fatalf("smoltest: %v", err)
	}
	tb.Cleanup(func() {
		if err := svc.Close(); err != nil {
			tb.Errorf("smoltest: close the client: %v", err)
		}
	})
	return svc
}

// Boots returns how often a machine, named by its id or its name, was booted. It is 0 for a machine that is not there.
func (c *Cloud) Boots(machine string) int { return c.host.Boots(machine) }

// SetListening says whether something listens on a port of a machine, named by its id or its name, whatever its commands do. A machine that
// publishes ports is ready once something listens on all of them, and the commands of [Script] cannot listen. It fails the test if
// there is no such machine. A restart forgets it.
func (c *Cloud) SetListening(machine string, port int, listening bool) {
	if err := c.host.Server().SetListening(machine, port, listening); err != nil {
		c.fail(err)
	}
}

// Sweep makes the service look after its machines at once, as it does every 15 seconds: it stops those that are idle and deletes those whose
// time is over.
func (c *Cloud) Sweep() { c.host.Server().Sweep() }
