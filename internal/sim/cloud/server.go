package cloud

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smol-machines/smol-go/internal/randhex"
	"github.com/smol-machines/smol-go/internal/sim/route"
	"github.com/smol-machines/smol-go/internal/sim/seen"
	"github.com/smol-machines/smol-go/internal/sim/shelf"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// Server is the stand-in. It is an http.Handler; [Server.Serve] runs it on a listener. Its methods are safe for concurrent use.
type Server struct {
	o       Options
	keys    keyring
	clock   Clock
	store   *shelf.Shelf[record]
	began   time.Time
	http    *http.Server
	table   []entry
	seen    seen.Log
	tasks   *task.Group
	unsweep func()
	rates   limiter
	samples atomic.Int64 // how often something was metered

	mu       sync.Mutex
	machines map[string]*machine // by id
	order    []*machine          // by creation
	names    map[string]string   // an account and a name, to the id; "" while it is being made
	making   map[string]int      // machines being made, by account
	past     map[string]*record  // deleted machines, by id
	tokens   map[[sha256.Size]byte]connectGrant
	points   map[string]*checkpoint
	// credentials are by account and name.
	credentials map[string]credential
	caches      []*cacheDisk // by creation
	credits     map[string]credit
	seq         int
}

// New loads the records in o.DataDir, adopts the machines that still run, and starts to look after them. Close the server to stop it.
func New(o *Options) (*Server, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	st, err := shelf.Open(opts.DataDir, func(r *record) string { return r.ID })
	if err != nil {
		return nil, err
	}
	s := &Server{
		keys: newKeyring(opts.Keys), clock: opts.Clock, store: st, began: opts.Clock.Now(), tasks: task.New(), unsweep: func() {},
		machines: map[string]*machine{}, names: map[string]string{}, making: map[string]int{},
		past: map[string]*record{}, tokens: map[[sha256.Size]byte]connectGrant{}, points: map[string]*checkpoint{}, credentials: map[string]credential{}, credits: map[string]credit{},
	}
	opts.Keys = nil // the ring has what is needed of them
	s.o = opts
	s.table = s.routes()
	var h http.Handler = s
	if opts.Wrap != nil {
		h = opts.Wrap(s)
	}
	s.http = &http.Server{
		Handler: h, DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(opts.Log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: time.Minute,
	}
	if err := s.load(); err != nil {
		s.tasks.Close(s.release)
		return nil, err
	}
	if opts.Sweep > 0 {
		s.unsweep = s.clock.Every(opts.Sweep, s.Sweep)
	}
	return s, nil
}

// now is the time in answers and records.
func (s *Server) now() time.Time { return s.clock.Now().UTC().Truncate(time.Millisecond) }

// Serve answers on l until [Server.Shutdown] or [Server.Close]; then it returns http.ErrServerClosed. It closes l.
func (s *Server) Serve(l net.Listener) error { return s.http.Serve(l) }

// Shutdown stops accepting and waits for the requests in flight until ctx ends; then it does what [Server.Close] does. The error is that
// of ctx if requests were cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	return errors.Join(err, s.Close())
}

// Close cuts off what is in flight, ends foreground commands, and lets go of the machines, which run on. When it returns nothing of the server
// goes on. It may be called more than once, but not from a handler.
func (s *Server) Close() error {
	err := s.http.Close()
	s.unsweep()
	s.tasks.Close(s.release)
	return err
}

// release lets go of the machines.
func (s *Server) release() {
	for _, m := range s.all() {
		m.release()
	}
}

// KillAll ends every machine that runs, as a failure of their hosts does.
func (s *Server) KillAll() {
	var all sync.WaitGroup
	for _, m := range s.all() {
		all.Go(m.killAll)
	}
	all.Wait()
}

// Requests returns the requests seen, oldest first; of very many only the newest.
func (s *Server) Requests() []seen.Request { return s.seen.All() }

// Count returns how many requests had the method and a path that matches pattern, as path.Match does: "*" stands for any one segment. An empty
// method stands for all. A malformed pattern matches nothing.
func (s *Server) Count(method, pattern string) int { return s.seen.Count(method, pattern) }

// ForgetRequests empties what [Server.Requests] returns.
func (s *Server) ForgetRequests() { s.seen.Forget() }

// all returns the machines, oldest first.
func (s *Server) all() []*machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*machine(nil), s.order...)
}

// safeID is a request id that a client may choose.
var safeID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// ServeHTTP answers one request. Once the server has closed, the connection is closed instead.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.tasks.Enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.tasks.Leave()
	w = s.seen.Note(w, r)
	id := r.Header.Get("X-Request-Id")
	if !safeID.MatchString(id) {
		id = "req-" + randhex.String(12)
	}
	w.Header().Set("X-Request-Id", id)
	s.dispatch(w, r)
}

// lookup finds the route of a request. The entry is nil if there is none, the method is if the route has another one.
func (s *Server) lookup(r *http.Request) (*entry, *method, map[string]string) {
	path := strings.Split(r.URL.EscapedPath(), "/")
	for i := range s.table {
		params, ok := s.table[i].path.Match(path)
		if ok {
			return &s.table[i], s.table[i].method(r.Method), params
		}
	}
	return nil, nil, nil
}

// dispatch lets the client in, or not, before it tells anything about the path.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) {
	e, m, params := s.lookup(r)
	c := &call{Server: s, w: w, r: r, ctx: r.Context(), params: params}
	if m == nil || !m.public {
		var err error
		if c.who, err = s.authenticate(r, m); err != nil {
			c.answer(nil, err)
			return
		}
		if err := c.admit(m); err != nil {
			c.answer(nil, err)
			return
		}
	}
	switch {
	case e == nil:
		c.answer(nil, &bare{http.StatusNotFound})
		return
	case m == nil:
		w.Header().Set("Allow", e.allow())
		c.answer(nil, &bare{http.StatusMethodNotAllowed})
		return
	}
	if bad := route.Unescape(params); bad != "" {
		c.answer(nil, badRequest("Invalid URL: Invalid UTF-8 in `%s`", bad))
		return
	}
	c.run(m)
}

// run calls the handler under a context that ends with the request or the server.
func (c *call) run(m *method) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.tasks.Context(), func() { cancel(http.ErrServerClosed) })()
	c.ctx = ctx
	c.answer(m.do(c))
}
