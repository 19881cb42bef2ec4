package cloud_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

// child is the test binary run anew, because the proxy of the environment is looked at once per process. It lists the machines of a service.
func child() int {
	o := cloud.OptionsFromEnv()
	o.CAFile = os.Getenv("SMOL_TEST_CA")
	svc, err := cloud.New(o)
	if err != nil {
		fmt.Println("new:", err)
		return 1
	}
	defer func() { _ = svc.Close() }()
	n := 0
	for _, err := range svc.List(context.Background(), nil) {
		if err != nil {
			fmt.Println("list:", err)
			return 1
		}
		n++
	}
	fmt.Println("machines:", n)
	return 0
}

// proxy is a CONNECT proxy that leads every host to one address and keeps what it is asked.
type proxy struct {
	url    string
	refuse string // a status line to answer with

	mu   sync.Mutex
	seen bytes.Buffer
	n    int
}

// startProxy starts a proxy in front of target.
func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{url: "http://" + l.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.tunnel(c, target) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return p
}

func (p *proxy) tunnel(c net.Conn, target string) {
	defer func() { _ = c.Close() }()
	br := bufio.NewReader(c)
	req, err := http.ReadRequest(br)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.n++
	fmt.Fprintf(&p.seen, "%s %s %v\n", req.Method, req.RequestURI, req.Header)
	refuse := p.refuse
	p.mu.Unlock()
	if refuse != "" || req.Method != http.MethodConnect {
		_, _ = io.WriteString(c, "HTTP/1.1 "+refuse+"\r\nContent-Length: 0\r\n\r\n")
		return
	}
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.MultiWriter(to, p), br)
		_ = to.Close()
	}()
	_, _ = io.Copy(io.MultiWriter(c, p), to)
	_, _ = c.Close(), to.Close()
	<-done
}

// Write keeps what passes through the tunnel.
func (p *proxy) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.Write(b)
}

func (p *proxy) said() (string, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String(), p.n
}

// tlsServer is a server with a certificate for example.com that the system does not trust, and the file with the certificate.
func tlsServer(t *testing.T, h http.Handler) (srv *httptest.Server, caFile string) {
	t.Helper()
	srv = httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of handshakes that are meant to fail
	srv.StartTLS()
	t.Cleanup(srv.Close)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	writeFile(t, caFile, string(cert))
	return srv, caFile
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestProxyOfTheEnvironment runs a program with each environment and looks at what the proxy was asked.
func TestProxyOfTheEnvironment(t *testing.T) {
	s := &server{t: t}
	srv, caFile := tlsServer(t, s.handler(answers{"GET /machines": says("[" + machine("started") + "]")}))
	target := srv.Listener.Addr().String()
	plain := serve(t, answers{"GET /machines": says("[" + machine("started") + "]")})
	// The certificate is for 127.0.0.1 and example.com, and nobody but the proxy knows the way to the latter.
	for _, tt := range []struct {
		name, url string
		env       []string // PROXY stands for the proxy's URL
		proxied   bool
		fails     bool
	}{
		{"HTTPS_PROXY", "https://example.com", []string{"HTTPS_PROXY=PROXY"}, true, false},
		{"https_proxy", "https://example.com", []string{"https_proxy=PROXY"}, true, false},
		{"another host in NO_PROXY", "https://example.com", []string{"HTTPS_PROXY=PROXY", "NO_PROXY=example.org"}, true, false},
		{"this host in NO_PROXY", "https://no-such-host.invalid", []string{"HTTPS_PROXY=PROXY", "NO_PROXY=no-such-host.invalid"}, false, true},
		{"HTTP_PROXY is for others", "https://no-such-host.invalid", []string{"HTTP_PROXY=PROXY"}, false, true},
		{"loopback with TLS", "https://" + target, []string{"HTTPS_PROXY=PROXY"}, false, false},
		{"loopback in the clear", plain.url, []string{"HTTP_PROXY=PROXY", "HTTPS_PROXY=PROXY"}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := startProxy(t, target)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = []string{"SMOL_TEST_CHILD=1", "SMOL_TEST_CA=" + caFile, cloud.EnvToken + "=" + token, cloud.EnvURL + "=" + tt.url}
			if root := os.Getenv("SYSTEMROOT"); root != "" {
				cmd.Env = append(cmd.Env, "SYSTEMROOT="+root) // without it Windows has no sockets
			}
			for _, e := range tt.env {
				if name, ok := strings.CutSuffix(e, "=PROXY"); ok {
					e = name + "=" + p.url
				}
				cmd.Env = append(cmd.Env, e)
			}
			out, err := cmd.CombinedOutput()
			if failed := err != nil; failed != tt.fails {
				t.Errorf("%v: %s", err, out)
			}
			if !tt.fails && !strings.Contains(string(out), "machines: 1") {
				t.Errorf("the program says %s", out)
			}
			said, n := p.said()
			if (n > 0) != tt.proxied {
				t.Errorf("the proxy was asked %d times: %s", n, said)
			}
			if strings.Contains(said+string(out), "canary") {
				t.Errorf("the key was told: %s%s", said, out)
			}
			if tt.proxied && !strings.Contains(said, "CONNECT example.com:443") {
				t.Errorf("the proxy was asked %s", said)
			}
		})
	}
}

func TestProxyOption(t *testing.T) {
	s := &server{t: t}
	srv, caFile := tlsServer(t, s.handler(answers{"GET /machines": says("[]")}))
	p := startProxy(t, srv.Listener.Addr().String())
	proxyURL, err := url.Parse(strings.Replace(p.url, "http://", "http://me:hunter2@", 1))
	if err != nil {
		t.Fatal(err)
	}
	o := &cloud.Options{URL: "https://example.com", Token: token, CAFile: caFile, Proxy: http.ProxyURL(proxyURL)}
	for _, err := range newService(t, o).List(t.Context(), nil) {
		t.Error(err)
	}
	if said, n := p.said(); n != 1 || strings.Contains(said, "canary") {
		t.Errorf("asked %d times: %s", n, said)
	}

	// A proxy that refuses has sent nothing on, so that nothing is left to find out.
	for status, want := range map[string]error{
		"407 Proxy Authentication Required": smol.ErrPermission,
		"502 Bad Gateway":                   smol.ErrUnavailable,
	} {
		p.mu.Lock()
		p.refuse, p.n = status, 0
		p.mu.Unlock()
		svc := newService(t, o)
		_, err := svc.Create(t.Context(), smol.Spec{Image: "alpine"}, nil)
		e := asError(t, err)
		if !errors.Is(err, want) || !strings.Contains(e.Message, status) || !strings.Contains(e.Hint, "HTTPS_PROXY") {
			t.Errorf("%s: %v, hint %q", status, err, e.Hint)
		}
		if strings.Contains(fmt.Sprintf("%+v", err), "hunter2") {
			t.Errorf("the error tells the proxy's password: %v", err)
		}
		if _, n := p.said(); n != 1 {
			t.Errorf("%s: asked %d times", status, n)
		}
	}
}

func TestCertificates(t *testing.T) {
	s := &server{t: t}
	srv, caFile := tlsServer(t, s.handler(answers{"GET /machines": says("[]")}))
	list := func(o cloud.Options) error {
		o.URL, o.Token = srv.URL, token
		for _, err := range newService(t, &o).List(t.Context(), nil) {
			return err
		}
		return nil
	}
	roots := srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	for name, o := range map[string]cloud.Options{
		"a file":                {CAFile: caFile},
		"a pool":                {RootCAs: roots},
		"both":                  {CAFile: caFile, RootCAs: roots},
		"a file and a client":   {CAFile: caFile, HTTPClient: &http.Client{Transport: &http.Transport{}}},
		"a file and no more":    {CAFile: caFile, HTTPClient: &http.Client{}},
		"a client that knows":   {HTTPClient: srv.Client()},
		"a RoundTripper's word": {HTTPClient: &http.Client{Transport: roundTripper(srv.Client().Transport.RoundTrip)}},
	} {
		if err := list(o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := list(cloud.Options{})
	e := asError(t, err)
	var cert *tls.CertificateVerificationError
	if !errors.Is(err, smol.ErrUnavailable) || !errors.As(err, &cert) || !strings.Contains(e.Message, "not trusted") || !strings.Contains(e.Hint, "CAFile") {
		t.Errorf("a certificate that is not trusted: %v, hint %q", err, e.Hint)
	}
	bad := filepath.Join(t.TempDir(), "bad.pem")
	writeFile(t, bad, "no certificate")
	for name, o := range map[string]cloud.Options{
		"no such file":         {CAFile: bad + "x"},
		"no certificate":       {CAFile: bad},
		"a RoundTripper's own": {CAFile: caFile, HTTPClient: &http.Client{Transport: roundTripper(srv.Client().Transport.RoundTrip)}},
	} {
		o.Token = token
		if _, err := cloud.New(&o); !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestNotTLS(t *testing.T) {
	s := serve(t, answers{})
	svc := newService(t, &cloud.Options{URL: strings.Replace(s.url, "http:", "https:", 1), Token: token})
	_, err := svc.Create(t.Context(), smol.Spec{Image: "alpine"}, nil)
	if e := asError(t, err); !errors.Is(err, smol.ErrUnavailable) || !strings.Contains(e.Message, "does not speak TLS") {
		t.Errorf("%v", err)
	}
	if len(s.requests()) != 0 {
		t.Errorf("it was asked %q", s.requests())
	}
}
