package local

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/smol"
)

// The service's own limits.
const (
	maxBody       = 2 << 20   // of a JSON request
	maxUpload     = 100 << 20 // of a file's body
	maxBlind      = 1 << 20   // above it an upload is staged, and can land elsewhere in a machine made from an image
	maxDownload   = 4 << 30   // what the service holds in memory for a download
	maxList       = 64 << 20  // ours: thousands of machines
	maxInFlight   = 6         // a machine serves eight connections, one of them for the service's own probe; another client may need one
	maxExec       = 280 * time.Second
	machinesRoute = "/api/v1/machines"
)

// Backend is the local fleet as [smol.NewFleet] takes it; programs use [Service]. It also implements [smol.FileBackend],
// [smol.StreamBackend], [smol.LogBackend], [smol.BranchBackend] and [smol.ImageBackend].
type Backend struct {
	rest   *rest.Client
	idle   *http.Transport
	traits smol.Traits
	pauses pauses
}

// pauses are the waits between questions.
type pauses struct {
	settle   time.Duration // until the service has noticed what a lost call did
	follower time.Duration // for a place among the followers of logs, at first
	image    time.Duration // for a pull that outlasts its request
}

// NewBackend returns a backend for the service that o names; nil means the defaults. It does no I/O.
func NewBackend(o *Options) (*Backend, error) {
	if o == nil {
		o = &Options{}
	}
	raw := o.URL
	if raw == "" {
		raw = defaultURL(runtime.GOOS)
	}
	e, err := parseEndpoint(raw, runtime.GOOS)
	if err != nil {
		return nil, err
	}
	if o.DialTimeout < 0 {
		return nil, &smol.Error{Code: smol.CodeInvalid, Message: "Options.DialTimeout is negative"}
	}
	d := &dialer{endpoint: *e, timeout: o.DialTimeout, window: o.StartWindow}
	if d.timeout == 0 {
		d.timeout = defaultDialTimeout
	}
	return newBackend(d.dial, e.base(), e.url, o.Wrap), nil
}

// newBackend returns a backend whose connections dial makes; endpoint names the service.
func newBackend(
	dial func(ctx context.Context, network, address string) (net.Conn, error), base *url.URL, endpoint string, wrap func(http.RoundTripper) http.RoundTripper,
) *Backend {
	own := rest.NewTransport(dial)
	var transport http.RoundTripper = own
	if wrap != nil {
		transport = wrap(own)
	}
	return &Backend{
		idle: own,
		rest: rest.New(&rest.Config{
			Base: base, Transport: transport, RequestID: "X-Trace-Id", Header: http.Header{"User-Agent": {"smol-go"}},
		}),
		traits: smol.Traits{
			Fleet: "local", Endpoint: endpoint, MaxInFlight: maxInFlight, MaxExec: maxExec,
			MaxUpload: maxUpload, MaxBlindUpload: maxBlind, MaxDownload: maxDownload,
		},
		pauses: pauses{settle: 500 * time.Millisecond, follower: 100 * time.Millisecond, image: 2 * time.Second},
	}
}

// Traits implements [smol.Backend]. Execs are bounded by the service's 300 seconds for any answer, and env and directory given at
// create reach the workload only.
func (b *Backend) Traits() smol.Traits { return b.traits }

// Close closes the connections that are idle.
func (b *Backend) Close() error {
	b.rest.Close()
	b.idle.CloseIdleConnections() // a transport of Options.Wrap may not pass that on
	return nil
}

// request is a request about one machine; tail is the rest of the path, escaped. A name that the service could not have given is
// refused here, before it can lead anywhere.
func request(op, method, name, tail string) (*rest.Request, error) {
	if err := checkName("machine name", name); err != nil {
		return nil, rest.Describe(err, op, "")
	}
	return &rest.Request{Op: op, Machine: name, Method: method, Path: machinesRoute + "/" + name + tail, Accept: "application/json"}, nil
}

// send sends in as JSON, unless it is nil, and decodes the answer into out, unless that is nil.
func (b *Backend) send(ctx context.Context, r *rest.Request, in, out any) error {
	if in != nil {
		if err := r.Attach(in, maxBody); err != nil {
			return err
		}
	}
	return explain(b.rest.JSON(ctx, r, nil, out))
}
