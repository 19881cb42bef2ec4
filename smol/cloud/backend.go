package cloud

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/internal/retry"
	"github.com/smol-machines/smol-go/smol"
)

const (
	// maxInFlight is how many calls a machine is given at once. The service tells no number. Its hosts run the engine of the local fleet, whose
	// machines serve eight connections: one is the service's own, and another client may need one.
	maxInFlight = 6
	// maxExecReply bounds the answer to a command: the output, as text and in base64.
	maxExecReply = 256 << 20
)

// Backend is the cloud fleet as [smol.NewFleet] takes it; programs use [Service]. It also implements [smol.FileBackend],
// [smol.StreamBackend], [smol.LogBackend], [smol.BranchBackend] and [smol.OriginBackend].
type Backend struct {
	rest      *rest.Client
	retry     *retry.Transport
	closeIdle func()
	traits    smol.Traits
	origin    origin
	users     users
	// filesWork: the service has moved a file, so it has the route, and "not found" means the file.
	filesWork atomic.Bool
	pauses    pauses
}

// pauses are the waits between questions about a machine that is changing.
type pauses struct{ first, most time.Duration }

// NewBackend returns a backend for the service that o names; see [New].
func NewBackend(o *Options) (*Backend, error) {
	if o == nil {
		o = &Options{}
	}
	if err := checkToken(o.Token); err != nil {
		return nil, err
	}
	if err := checkHeader("Options.Tenant", o.Tenant); err != nil {
		return nil, err
	}
	base, err := parseURL(o.baseURL())
	if err != nil {
		return nil, err
	}
	if o.DialTimeout < 0 {
		return nil, rest.Invalid("Options.DialTimeout", "is negative")
	}
	transport, closeIdle, err := newTransport(o, base)
	if err != nil {
		return nil, err
	}
	if o.Wrap != nil {
		transport = o.Wrap(transport)
	}
	header := http.Header{"User-Agent": {"smol-go"}, "Authorization": {"Bearer " + o.Token}}
	if o.Tenant != "" {
		header.Set("Smol-Tenant", o.Tenant)
	}
	again := retry.New(transport)
	config := &rest.Config{Base: base, Transport: again, Header: header, RequestID: "X-Request-Id", Secret: o.Token}
	if o.HTTPClient != nil {
		config.Timeout = o.HTTPClient.Timeout
	}
	return &Backend{
		rest:      rest.New(config),
		retry:     again,
		closeIdle: closeIdle,
		traits:    smol.Traits{Fleet: "cloud", Endpoint: base.String(), MaxInFlight: maxInFlight, KeepsEnv: true},
		origin:    newOrigin(),
		pauses:    pauses{first: 250 * time.Millisecond, most: 2 * time.Second},
	}, nil
}

// Traits implements [smol.Backend]. The service keeps the environment and directory given at create for every command. No limit is known for
// the length of a command or the size of a file.
func (b *Backend) Traits() smol.Traits { return b.traits }

// Close closes the connections that are idle. Those of a RoundTripper of the caller's are left alone.
func (b *Backend) Close() error {
	b.closeIdle()
	return nil
}

// send sends in as JSON, unless it is nil, and decodes the answer into out, unless that is nil.
func (b *Backend) send(ctx context.Context, c *call, in, out any) error {
	if in != nil {
		if err := c.Attach(in, 0); err != nil {
			return err
		}
	}
	ctx, c.plan = retry.With(ctx, c.op.policy)
	return explain(b.rest.JSON(ctx, &c.Request, nil, out))
}

// open sends c and returns the answer if it is a success; the caller closes its body.
func (b *Backend) open(ctx context.Context, c *call) (*http.Response, error) {
	ctx, c.plan = retry.With(ctx, c.op.policy)
	resp, err := b.rest.Do(ctx, &c.Request)
	return resp, explain(err)
}

// ask is send for a question without a body about one machine, or about none.
func (b *Backend) ask(ctx context.Context, op opID, id string, out any) error {
	c, err := newCall(op, id)
	if err != nil {
		return err
	}
	return b.send(ctx, c, nil, out)
}
