package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Server is the stand-in. It is an http.Handler; [Server.Serve] runs it on a listener as the real service does. Its methods are safe for
// concurrent use.
type Server struct {
	o        Options
	version  version
	store    *store
	started  time.Time
	http     *http.Server
	table    []route
	requests recorder
	counter  atomic.Uint32
	follows  atomic.Int32
	beat     atomic.Int64 // when the supervisor last ticked, in nanoseconds since 1970

	// ctx ends when the server closes; work counts what goes on in the background, handlers the requests in flight.
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup
	handlers sync.WaitGroup
	once     sync.Once

	mu         sync.Mutex
	machines   map[string]*machine
	reserved   map[string]bool
	foreground map[*running]bool
	closed     bool
}

// New loads the records in o.DataDir, adopts the machines that still run, and starts the supervisor. Close the server to stop it.
func New(o *Options) (*Server, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	v, err := parseVersion(opts.Version)
	if err != nil {
		return nil, err
	}
	st, err := openStore(opts.DataDir)
	if err != nil {
		return nil, err
	}
	s := &Server{
		o:          opts,
		version:    v,
		store:      st,
		started:    time.Now(),
		machines:   map[string]*machine{},
		reserved:   map[string]bool{},
		foreground: map[*running]bool{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.table = s.routes()
	var h http.Handler = s
	if opts.Wrap != nil {
		h = opts.Wrap(s)
	}
	s.http = &http.Server{Handler: h, DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(opts.Log.Handler(), slog.LevelWarn)}
	if err := s.load(); err != nil {
		s.cancel()
		return nil, err
	}
	s.supervise()
	return s, nil
}

// Serve answers on l until [Server.Shutdown] or [Server.Close]; then it returns http.ErrServerClosed. It closes l.
func (s *Server) Serve(l net.Listener) error { return s.http.Serve(l) }

// Shutdown stops accepting and waits for the requests in flight until ctx ends or, if that is set, Options.Shutdown has passed; then it
// does what [Server.Close] does. The error is that of ctx if requests were cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	if s.o.Shutdown > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.o.Shutdown)
		defer cancel()
	}
	err := s.http.Shutdown(ctx)
	return errors.Join(err, s.Close())
}

// Close cuts off what is in flight, ends foreground commands, and lets go of the machines, which run on. When it returns nothing of the server
// goes on. It may be called more than once, but not from a handler.
func (s *Server) Close() error {
	err := s.http.Close()
	s.once.Do(func() {
		s.cancel()
		for _, r := range s.end() {
			r.kill()
		}
		s.handlers.Wait()
		s.release() // which ends what waits for a command that nobody holds any more
		s.work.Wait()
		s.release() // what was booted meanwhile
	})
	return err
}

// end marks the server as closed and returns the commands in the foreground.
func (s *Server) end() (list []*running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for r := range s.foreground {
		list = append(list, r)
	}
	return list
}

func (s *Server) release() {
	for _, m := range s.all() {
		m.release()
	}
}

// enter counts a request in, unless the server has closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.handlers.Add(1)
	}
	return !s.closed
}

// KillAll ends every machine that runs; the records stay as they are, so that to the next server the machines have died.
func (s *Server) KillAll() {
	var all sync.WaitGroup
	for _, m := range s.all() {
		all.Go(m.killAll)
	}
	all.Wait()
}

// Reboots returns how often the machine was rebooted because it was taken for dead: by the ninth call at once, by a changed mount
// source, or by a call on a machine that did not answer. It is 0 for a machine that does not exist.
func (s *Server) Reboots(name string) int {
	s.mu.Lock()
	m := s.machines[name]
	s.mu.Unlock()
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reboots
}

// The headers that the outermost layer adds.
const (
	vary    = "origin, access-control-request-method, access-control-request-headers"
	origins = "http://localhost:8080 http://127.0.0.1:8080 http://localhost:3000 http://127.0.0.1:3000"
)

// ServeHTTP answers one request. Once the server has closed, the connection is closed instead.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.handlers.Done()
	rw := &responseWriter{w, &s.requests, s.requests.add(r)}
	h := rw.Header()
	h.Set("Vary", vary)
	if o := r.Header.Get("Origin"); o != "" && strings.Contains(" "+origins+" ", " "+o+" ") {
		h.Set("Access-Control-Allow-Origin", o)
	}
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET,POST,PUT,DELETE")
		h.Set("Access-Control-Allow-Headers", "content-type")
		rw.WriteHeader(http.StatusOK)
		return
	}
	h.Set("X-Trace-Id", fmt.Sprintf("%08x%08x", s.counter.Add(1), uint32(os.Getpid())))
	s.dispatch(rw, r)
}

func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(r.URL.EscapedPath(), "/")
	for _, t := range s.table {
		params, ok := t.match(path)
		if !ok {
			continue
		}
		m, ok := t.method(r.Method)
		if !ok {
			w.Header().Set("Allow", t.allow())
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		c := &call{Server: s, w: w, r: r, ctx: r.Context(), params: params}
		if bad := unescapeParams(params); bad != "" {
			c.text(http.StatusBadRequest, "Invalid UTF-8 in `"+bad+"`")
			return
		}
		c.run(m)
		return
	}
	w.WriteHeader(http.StatusNotFound)
}

// run calls the handler under a context that ends with the request, the server, or the time-out of the route.
func (c *call) run(m method) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.Server.ctx, func() { cancel(http.ErrServerClosed) })()
	if !m.slow {
		timed, stop := context.WithTimeout(ctx, c.o.Timeout)
		defer stop()
		ctx = timed
	}
	c.ctx = ctx
	c.answer(m.do(c))
}

// all returns the machines, in no order.
func (s *Server) all() []*machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*machine
	for _, m := range s.machines {
		list = append(list, m)
	}
	return list
}

// background runs f, which the server waits for when it closes. What begins after that ends by itself, because the context is over.
func (s *Server) background(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		go f()
		return
	}
	s.work.Go(f)
}
