package cloud_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

// TestCallersClientIsNotWritten hands in a client and looks at all of it afterwards.
func TestCallersClientIsNotWritten(t *testing.T) {
	var cookies int
	s := serve(t, answers{"GET /machines": func(w http.ResponseWriter, r *http.Request) {
		cookies += len(r.Cookies())
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/"})
		says("[]")(w, r)
	}})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	proxied := false
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{ServerName: "kept.example"},
		Proxy:           func(*http.Request) (*url.URL, error) { proxied = true; return nil, nil },
	}
	redirects := func(*http.Request, []*http.Request) error { return nil }
	mine := &http.Client{Transport: transport, Jar: jar, CheckRedirect: redirects, Timeout: time.Minute}
	_, caFile := tlsServer(t, http.NotFoundHandler())
	svc := newService(t, &cloud.Options{
		URL: s.url, Token: token, HTTPClient: mine, CAFile: caFile,
		Proxy: func(*http.Request) (*url.URL, error) { t.Error("a proxy for the loopback"); return nil, nil },
	})
	for range 2 {
		for _, err := range svc.List(t.Context(), nil) {
			t.Error(err)
		}
	}
	if mine.Transport != transport || mine.Jar != jar || mine.Timeout != time.Minute || mine.CheckRedirect == nil {
		t.Error("the client was written")
	}
	if transport.DisableCompression || transport.OnProxyConnectResponse != nil || transport.Proxy == nil ||
		transport.TLSClientConfig.RootCAs != nil || transport.TLSClientConfig.ServerName != "kept.example" {
		t.Errorf("the transport was written: %+v", transport)
	}
	base, _ := url.Parse(s.url)
	if cookies != 0 || len(jar.Cookies(base)) != 0 || proxied {
		t.Errorf("%d cookies were sent, %v are kept, proxied %v", cookies, jar.Cookies(base), proxied)
	}
}

func TestClientsTimeout(t *testing.T) {
	block := make(chan struct{})
	s := serve(t, answers{"GET /machines/" + id: func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-block:
		case <-r.Context().Done():
		}
	}})
	defer close(block)
	svc := newService(t, &cloud.Options{URL: s.url, Token: token, HTTPClient: &http.Client{Timeout: 50 * time.Millisecond}})
	_, err := svc.Machine(id).Info(t.Context())
	if !errors.Is(err, smol.ErrUnavailable) || s.count("GET /machines/"+id) != 1 {
		t.Errorf("%v after %d requests", err, s.count("GET /machines/"+id))
	}
}

// TestForeignTransport: a RoundTripper that is none of net/http's is used as it is, and not closed.
func TestForeignTransport(t *testing.T) {
	s := serve(t, answers{"GET /machines": says("[]")})
	f := &foreign{}
	svc := newService(t, &cloud.Options{URL: s.url, Token: token, HTTPClient: &http.Client{Transport: f}})
	for _, err := range svc.List(t.Context(), nil) {
		t.Error(err)
	}
	if err := svc.Close(); err != nil || f.closed != 0 || f.sent != 1 {
		t.Errorf("%v, sent %d, closed %d times", err, f.sent, f.closed)
	}
}

type foreign struct {
	http.Transport
	sent, closed int
}

func (f *foreign) RoundTrip(req *http.Request) (*http.Response, error) {
	f.sent++
	req = req.Clone(req.Context())
	req.Close = true
	return f.Transport.RoundTrip(req)
}

func (f *foreign) CloseIdleConnections() { f.closed++ }

// TestWrap: the transport of Options.Wrap sees each try.
func TestWrap(t *testing.T) {
	s := serve(t, answers{"GET /machines": inTurn(empty(http.StatusServiceUnavailable), says("[]"))})
	var seen []string
	svc := newService(t, &cloud.Options{URL: s.url, Token: token, Wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			seen = append(seen, req.URL.Path)
			return next.RoundTrip(req)
		})
	}})
	for _, err := range svc.List(t.Context(), nil) {
		t.Error(err)
	}
	if strings.Join(seen, " ") != "/v1/machines /v1/machines" {
		t.Errorf("seen %q", seen)
	}
}

// TestNobodyListens: it is certain that nothing was done, so a create ends at once and asks no further.
func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	svc := newService(t, &cloud.Options{URL: "http://" + addr, Token: token})
	began := time.Now()
	_, err = svc.Create(t.Context(), smol.Spec{Image: "alpine"}, nil)
	e := asError(t, err)
	var dial *net.OpError
	if !errors.Is(err, smol.ErrUnavailable) || !errors.As(err, &dial) || dial.Op != "dial" || !strings.Contains(e.Message, addr) ||
		!strings.Contains(e.Hint, "SMOL_CLOUD_URL") {
		t.Errorf("%v, hint %q", err, e.Hint)
	}
	if time.Since(began) > 20*time.Second {
		t.Errorf("took %v", time.Since(began))
	}
}

// TestDialTimeout: the time that connecting takes is no deadline of the caller's.
func TestDialTimeout(t *testing.T) {
	svc := newService(t, &cloud.Options{
		URL: "https://example.com", Token: token, HTTPClient: &http.Client{Transport: &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: timeout{}}
			},
		}},
	})
	_, err := svc.Create(t.Context(), smol.Spec{Image: "alpine"}, nil)
	if !errors.Is(err, smol.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("%v", err)
	}
}

type timeout struct{}

func (timeout) Error() string        { return "i/o timeout" }
func (timeout) Timeout() bool        { return true }
func (timeout) Is(target error) bool { return target == context.DeadlineExceeded }

// TestLoopbackIsChecked: "localhost" is what the resolver says, so where a connection really leads is looked at.
func TestLoopbackIsChecked(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:80": true, "127.9.9.9:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true,
		"10.0.0.1:80": false, "0.0.0.0:80": false, "[::]:80": false, "[fe80::1%eth0]:80": false, "192.168.0.1:80": false,
	} {
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := cloud.IsLocalAddr(a); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}
