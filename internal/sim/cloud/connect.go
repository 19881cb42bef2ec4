package cloud

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"github.com/coder/websocket"
)

// bridgeLimit is how large a body the connect bridge carries.
const bridgeLimit = 10 << 20

// connect hands a request to a published port of the machine, the caller's key included, and the answer back.
func (c *call) connect() (any, error) {
	if c.o.ConnectGetOnly {
		if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
			c.w.Header().Set("Allow", "GET,HEAD")
			return nil, &bare{http.StatusMethodNotAllowed}
		}
		if strings.HasSuffix(c.r.URL.EscapedPath(), "/connect/"+c.params["port"]+"/") {
			return nil, &bare{http.StatusNotFound}
		}
	}
	m, v, port, err := c.published()
	if err != nil {
		return nil, err
	}
	if c.r.ContentLength > bridgeLimit {
		return nil, fail(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", bridgeLimit)
	}
	defer m.begin()()
	_, rest, _ := strings.Cut(c.r.URL.EscapedPath(), "/connect/"+c.params["port"])
	c.bridge(v, port, "/"+strings.TrimPrefix(rest, "/"))
	return nil, nil
}

// bridge proxies the request to a path of a port.
func (c *call) bridge(v *vm, port int, path string) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return v.inst.Dial(ctx, port) }
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true, DisableCompression: true}
	r := c.r.Clone(c.ctx)
	r.Body = http.MaxBytesReader(c.w, c.r.Body, bridgeLimit)
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: slog.NewLogLogger(c.o.Log.Handler(), slog.LevelWarn),
		Rewrite: func(p *httputil.ProxyRequest) {
			to := &url.URL{Scheme: "http", Host: "machine", RawQuery: withoutToken(p.In.URL.RawQuery), RawPath: path}
			if to.Path = path; strings.Contains(path, "%") {
				to.Path, _ = url.PathUnescape(path)
			}
			p.Out.URL = to
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			var large *http.MaxBytesError
			if errors.As(err, &large) {
				c.answer(nil, fail(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", bridgeLimit))
				return
			}
			c.answer(nil, fail(http.StatusBadGateway, "nothing answers on port %d of the machine", port))
		},
	}
	proxy.ServeHTTP(c.w, r)
}

// withoutToken takes out of a query string the token that let the caller in.
func withoutToken(query string) string {
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(pair, "="); name != "access_token" {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&")
}

// tunnel carries a TCP connection to a published port in binary messages of a WebSocket.
func (c *call) tunnel() (any, error) {
	if err := c.checkUpgrade(); err != nil {
		return nil, err
	}
	m, v, port, err := c.published()
	if err != nil {
		return nil, err
	}
	defer m.begin()()
	guest, err := v.inst.Dial(c.ctx, port)
	if err != nil {
		return nil, fail(http.StatusBadGateway, "nothing answers on port %d of the machine", port)
	}
	defer guest.Close()
	ws, err := websocket.Accept(c.w, c.r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil, nil // it has been answered
	}
	defer ws.CloseNow()
	ctx, cancel := context.WithCancel(c.tasks.Context())
	defer cancel()
	client := websocket.NetConn(ctx, ws, websocket.MessageBinary)
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(guest, client)
		_ = guest.Close() // a WebSocket has no half that could stay open
	})
	both.Go(func() {
		_, _ = io.Copy(client, guest)
		// client.Close would end its reads first, which cuts the connection before the close frame is out.
		_ = ws.Close(websocket.StatusNormalClosure, "")
	})
	both.Wait()
	return nil, nil
}

// checkUpgrade refuses what is no WebSocket handshake.
func (c *call) checkUpgrade() error {
	h := c.r.Header
	switch {
	case !strings.Contains(strings.ToLower(h.Get("Connection")), "upgrade"):
		return badRequest("Connection header did not include 'upgrade'")
	case !upgrades(c.r):
		return badRequest("`Upgrade` header did not include 'websocket'")
	case h.Get("Sec-WebSocket-Key") == "":
		return badRequest("`Sec-WebSocket-Key` header missing")
	case h.Get("Sec-WebSocket-Version") != "13":
		return badRequest("`Sec-WebSocket-Version` header did not include '13'")
	}
	return nil
}
