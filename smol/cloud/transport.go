package cloud

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/smol"
)

// newTransport returns the transport that o asks for, and what closes its idle connections if it is ours.
func newTransport(o *Options, base *url.URL) (http.RoundTripper, func(), error) {
	roots, err := rootsOf(o)
	if err != nil {
		return nil, nil, err
	}
	var own *http.Transport
	if o.HTTPClient == nil || o.HTTPClient.Transport == nil {
		own = ownTransport(o, base)
	} else if theirs, ok := o.HTTPClient.Transport.(*http.Transport); ok {
		own = theirs.Clone()
		own.DisableCompression = true // a file is wanted as it is, with its length
	} else {
		if roots != nil || o.Proxy != nil {
			return nil, nil, rest.Invalid("Options.HTTPClient", "has a Transport that is no *http.Transport, so CAFile, RootCAs and Proxy must be set there")
		}
		return &plain{next: o.HTTPClient.Transport, host: base.Host}, func() {}, nil
	}
	if roots != nil {
		if own.TLSClientConfig == nil {
			own.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		own.TLSClientConfig.RootCAs = roots
	}
	if o.Proxy != nil {
		own.Proxy = o.Proxy
	}
	if base.Scheme == "http" {
		own.Proxy = nil // it would get the key in the clear
	}
	if own.OnProxyConnectResponse == nil {
		own.OnProxyConnectResponse = proxyAnswer
	}
	return &plain{next: own, host: base.Host}, own.CloseIdleConnections, nil
}

func ownTransport(o *Options, base *url.URL) *http.Transport {
	d := &dialer{timeout: o.DialTimeout, loopback: base.Scheme == "http"}
	if d.timeout == 0 {
		d.timeout = defaultDialTimeout
	}
	t := rest.NewTransport(d.dial)
	t.Proxy = http.ProxyFromEnvironment
	t.TLSHandshakeTimeout = d.timeout
	return t
}

// rootsOf returns the certificates to trust, or nil for those of the system.
func rootsOf(o *Options) (*x509.CertPool, error) {
	if o.CAFile == "" {
		return o.RootCAs, nil
	}
	pem, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, &smol.Error{Code: smol.CodeInvalid, Message: "Options.CAFile cannot be read: " + err.Error(), Err: err}
	}
	var pool *x509.CertPool
	if o.RootCAs != nil {
		pool = o.RootCAs.Clone()
	} else if pool, err = x509.SystemCertPool(); err != nil {
		pool = x509.NewCertPool() // a system without any
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, rest.Invalid("Options.CAFile", "%s holds no certificate in PEM", o.CAFile)
	}
	return pool, nil
}

// dialer connects to the service or to a proxy.
type dialer struct {
	timeout  time.Duration
	loopback bool // the connection carries the key in the clear
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	nd := net.Dialer{Timeout: d.timeout}
	c, err := nd.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if d.loopback && !isLocalAddr(c.RemoteAddr()) {
		_ = c.Close()
		return nil, &smol.Error{
			Code: smol.CodeInvalid, Message: address + " is not on this host's loopback, and the key would go there in the clear", Hint: "use https",
		}
	}
	return c, nil
}

func isLocalAddr(a net.Addr) bool {
	at, err := netip.ParseAddrPort(a.String())
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// proxyAnswer says why a proxy does not let anything through. The proxy's URL may hold a password, so only its host is told.
func proxyAnswer(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	e := &smol.Error{
		Code: smol.CodePermissionDenied, Message: "the proxy " + proxy.Host + " answers " + resp.Status,
		Hint: "see HTTPS_PROXY and NO_PROXY, or Options.Proxy",
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		e.Code = smol.CodeUnavailable
	}
	return e
}

// plain sends each request once and says of an error whether anything was sent.
type plain struct {
	next http.RoundTripper
	host string
}

// RoundTrip sends the request.
func (p *plain) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	resp, err := p.next.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil && !sent.Load() && req.Context().Err() == nil {
		return nil, p.unsent(err)
	}
	return resp, err
}

// unsent makes the error of a request of which nothing was sent. Its cause is a *net.OpError of a dial, which is how the library tells.
func (p *plain) unsent(err error) error {
	e := &smol.Error{Code: smol.CodeUnavailable, Message: "cannot connect to " + p.host + ": " + err.Error()}
	e.Hint = "see whether the network is up and " + EnvURL + ", HTTPS_PROXY and NO_PROXY are what they should be"
	var known *smol.Error
	var cert *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	var timeout net.Error
	switch {
	case errors.As(err, &known):
		e.Code, e.Message, e.Hint = known.Code, known.Message, known.Hint
	case errors.As(err, &cert):
		e.Message = "the certificate of " + p.host + " is not trusted: " + cert.Err.Error()
		e.Hint = "if it is that of a proxy or of a service of your own, name the authority's certificate in Options.CAFile"
	case errors.As(err, &notTLS):
		e.Message, e.Hint = p.host+" does not speak TLS", "see whether the port is right; plain HTTP is for the loopback only"
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Message = p.host + " did not accept a connection in time"
		// The error of package net also claims to be context.DeadlineExceeded, which is for the caller's own context.
		err = errors.New("timed out")
	}
	e.Err = &net.OpError{Op: "dial", Net: "tcp", Err: err}
	return e
}
