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

	"github.com/smol-machines/smol-go/internal/sim/route"
	"github.com/smol-machines/smol-go/internal/sim/seen"
	"github.com/smol-machines/smol-go/internal/sim/shelf"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// Server is the stand-in. It is an http.Handler; [Server.Serve] runs it on a listener as the real service does. Its methods are safe for
// concurrent use.
type Server struct {
	o        Options
	version  version
	store    *shelf.Shelf[record]
	started  time.Time
	http     *http.Server
	table    []endpoint
	requests seen.Log
	counter  atomic.Uint32
	follows  atomic.Int32
	beat     atomic.Int64 // when the supervisor last ticked, in nanoseconds since 1970
	tasks    *task.Group

	mu       sync.Mutex
	machines map[string]*machine
	reserved map[string]bool
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
	st, err := shelf.Open(opts.DataDir, func(r *record) string { return r.Name })
	if err != nil {
		return nil, err
	}
	s := &Server{
		o:        opts,
		version:  v,
		store:    st,
		started:  time.Now(),
		tasks:    task.New(),
		machines: map[string]*machine{},
		reserved: map[string]bool{},
	}
	s.table = s.routes()
	var h http.Handler = s
	if opts.Wrap != nil {
		h = opts.Wrap(s)
	}
	s.http = &http.Server{Handler: h, DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(opts.Log.Handler(), slog.LevelWarn)}
	if err := s.load(); err != nil {
		s.tasks.Close(s.release)
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
	s.tasks.Close(s.release)
	return err
}

func (s *Server) release() {
	for _, m := range s.all() {
		m.release()
	}
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
	if !s.tasks.Enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.tasks.Leave()
	rw := s.requests.Note(w, r)
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
		params, ok := t.path.Match(path)
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
		if bad := route.Unescape(params); bad != "" {
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
	defer context.AfterFunc(c.tasks.Context(), func() { cancel(http.ErrServerClosed) })()
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
