package fault

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"
)

// Injector holds faults. Make one with [New]; its methods are safe for concurrent use. One injector may stand before several handlers, one
// after the other, as when a server is restarted.
type Injector struct {
	closed chan struct{}
	once   sync.Once
	calls  sync.WaitGroup

	mu    sync.Mutex
	armed []*Armed
	fired int
}

// Armed is a fault that was added.
type Armed struct {
	i *Injector
	f Fault
	// seen and fired are guarded by the injector's mu.
	seen, fired int
}

// New returns an injector without faults.
func New() *Injector { return &Injector{closed: make(chan struct{})} }

// Add adds a fault. Of several that hit the same request the one added first happens; the others have counted it.
func (i *Injector) Add(f Fault) *Armed {
	i.mu.Lock()
	defer i.mu.Unlock()
	a := &Armed{i: i, f: f}
	i.armed = append(i.armed, a)
	return a
}

// Reset removes all faults. Requests that are being hit stay so.
func (i *Injector) Reset() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.armed = nil
}

// Fired returns how many requests were hit, by any fault.
func (i *Injector) Fired() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fired
}

// Fired returns how many requests the fault hit.
func (a *Armed) Fired() int {
	a.i.mu.Lock()
	defer a.i.mu.Unlock()
	return a.fired
}

// Seen returns how many requests matched the fault's method and path, hit or not.
func (a *Armed) Seen() int {
	a.i.mu.Lock()
	defer a.i.mu.Unlock()
	return a.seen
}

// Close ends all delays and hangs, whose connections close, and waits for the calls of Restart. Later requests are not hit.
func (i *Injector) Close() {
	i.Reset()
	i.once.Do(func() { close(i.closed) })
	i.calls.Wait()
}

// choose counts the request and returns the fault that hits it, if one does.
func (i *Injector) choose(r *http.Request) *Fault {
	i.mu.Lock()
	defer i.mu.Unlock()
	var hit *Armed
	for _, a := range i.armed {
		if !a.f.matches(r) {
			continue
		}
		a.seen++
		if hit == nil && a.f.hits(a.seen) {
			hit = a
		}
	}
	if hit == nil {
		return nil
	}
	hit.fired++
	i.fired++
	if hit.f.Action == Restart && hit.f.Call != nil {
		i.calls.Add(1) // here, so that Close cannot miss it
	}
	return &hit.f
}

// Wrap returns a handler that calls next unless a fault has it otherwise.
func (i *Injector) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := i.choose(r)
		if f == nil {
			next.ServeHTTP(w, r)
			return
		}
		i.hit(f, next, w, r)
	})
}

// hit does to a request what the fault says. Where the connection is to close without a byte it panics with [http.ErrAbortHandler],
// which net/http takes for that.
func (i *Injector) hit(f *Fault, next http.Handler, w http.ResponseWriter, r *http.Request) {
	if f.Action == Restart && f.Call != nil {
		defer func() { // whatever else happens, the restart does
			go func() {
				defer i.calls.Done()
				f.Call()
			}()
		}()
	}
	i.pause(f.Delay, r)
	if f.works() {
		next.ServeHTTP(&nowhere{header: http.Header{}}, r)
	}
	switch f.Action {
	case Pass:
		next.ServeHTTP(w, r)
	case Fail:
		f.answer(w, r)
	case Cut:
		c := &cutter{ResponseWriter: w, left: f.After}
		next.ServeHTTP(c, r)
		c.cut()
	case Hang:
		_, _ = io.Copy(io.Discard, r.Body) // the server notices that the client goes only behind the request
		select {
		case <-r.Context().Done():
		case <-i.closed:
		}
		panic(http.ErrAbortHandler)
	case Garble:
		next.ServeHTTP(garbler{w}, r)
	default:
		panic(http.ErrAbortHandler)
	}
}

// mostHeld is how much of a request's body is read before a delay. It is more than the services take as JSON.
const mostHeld = 4 << 20

// heldBody is a body of which the beginning was read before its time.
type heldBody struct {
	io.Reader
	io.Closer
}

// rest is what follows the beginning of a body, unless reading that has failed.
type rest struct {
	r   io.Reader
	err error
}

func (r *rest) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	return r.r.Read(p)
}

// pause waits for d; a request whose client has gone meanwhile, or that is still waiting when the injector closes, is aborted.
func (i *Injector) pause(d time.Duration, r *http.Request) {
	if d <= 0 {
		return
	}
	// The server notices that the client goes only behind the request.
	var body bytes.Buffer
	_, err := io.Copy(&body, io.LimitReader(r.Body, mostHeld))
	r.Body = heldBody{io.MultiReader(&body, &rest{r.Body, err}), r.Body}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return
	case <-r.Context().Done():
	case <-i.closed:
	}
	panic(http.ErrAbortHandler)
}

func (f *Fault) answer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 1<<20)) // or the connection closes before the client has written it
	h := w.Header()
	maps.Copy(h, f.Header)
	h["Content-Type"] = nil
	if f.ContentType != "" {
		h.Set("Content-Type", f.ContentType)
	}
	status := f.Status
	if status == 0 {
		status = http.StatusInternalServerError
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, f.Body)
}
