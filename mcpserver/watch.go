package mcpserver

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/smol"
)

const (
	// maxWatches is how many logs are looked at for all clients together.
	maxWatches = 64
	// lookBound is how long one look at a log may take.
	lookBound = 30 * time.Second
)

// watches are the logs that clients have subscribed to, by URI. Who has subscribed is also known to the SDK, which sends the updates.
type watches struct {
	server *Server
	seed   maphash.Seed
	mu     sync.Mutex
	all    map[string]*watch
}

// watch looks at one log for as long as somebody wants it.
type watch struct {
	uri     *machineURI
	members map[*session]*member // guarded by watches.mu
	stop    context.CancelFunc   // of the loop
	joined  chan struct{}        // somebody has just looked

	mu      sync.Mutex // of a look
	begun   bool
	id      string    // of the machine
	made    time.Time // when the machine was created
	count   int
	hash    uint64
	shorter bool // the last look found fewer lines
}

// member is the part of a session in a watch.
type member struct {
	undo   func() bool // undoes the end with the session
	joins  int         // subscribe requests whose look is under way
	joined bool        // one has been answered
}

func newWatches(s *Server) *watches {
	return &watches{server: s, seed: maphash.MakeSeed(), all: map[string]*watch{}}
}

// subscribe makes ss a member of the watch of a log. What the log holds by then is no news to it.
func (w *watches) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	ss, err := w.server.session(ctx, req.Session)
	if err != nil {
		return protocolError(ctx, err)
	}
	u, err := w.server.parseURI(ctx, ss, req.Params.URI)
	if err == nil && u.path != "" {
		err = fail(CodeInvalid, "only logs can be subscribed to")
	}
	if err != nil {
		return protocolError(ctx, err)
	}
	one, err := w.join(ctx, ss, u)
	if err != nil {
		return protocolError(ctx, err)
	}
	// This look also tells older members of what came before, so that the new one is not told of it.
	err = w.look(ctx, one)
	w.settle(ss, one, err == nil)
	if err != nil {
		return protocolError(ctx, err)
	}
	select {
	case one.joined <- struct{}{}:
	default:
	}
	return nil
}

// join returns the watch of u with ss as a member, which settle then makes one for good or not.
func (w *watches) join(ctx context.Context, ss *session, u *machineURI) (*watch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.all[u.uri]
	if one == nil {
		if len(w.all) >= maxWatches {
			return nil, fail(CodeRateLimited, "%d logs are subscribed to already", maxWatches).hint("Unsubscribe from one, or use machine-logs.")
		}
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		one = &watch{uri: u, members: map[*session]*member{}, stop: stop, joined: make(chan struct{}, 1)}
		w.all[u.uri] = one
		w.server.ends.Go(func() { w.loop(ctx, one) })
	}
	if one.members[ss] == nil {
		one.members[ss] = &member{undo: context.AfterFunc(ss.ended, func() { w.leave(ss, u.uri) })}
	}
	one.members[ss].joins++
	return one, nil
}

// settle says whether the look of a subscribe request succeeded. One that fails takes nothing from a session that has subscribed before, or is about to.
func (w *watches) settle(ss *session, one *watch, joined bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := one.members[ss]
	if m == nil {
		return // it has unsubscribed or ended meanwhile, or the machine is gone
	}
	m.joins--
	if m.joined = m.joined || joined; !m.joined && m.joins == 0 {
		w.remove(ss, one)
	}
}

// unsubscribe ends the membership of a session.
func (w *watches) unsubscribe(ctx context.Context, req *mcp.UnsubscribeRequest) error {
	ss, err := w.server.session(ctx, req.Session)
	if err != nil {
		return protocolError(ctx, err)
	}
	w.leave(ss, req.Params.URI)
	return nil
}

func (w *watches) leave(ss *session, uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.all[uri]; one != nil && one.members[ss] != nil {
		w.remove(ss, one)
	}
}

// remove takes a member out of a watch, which ends with its last. The caller holds w.mu.
func (w *watches) remove(ss *session, one *watch) {
	one.members[ss].undo()
	delete(one.members, ss)
	if len(one.members) == 0 {
		one.stop()
		if w.all[one.uri.uri] == one {
			delete(w.all, one.uri.uri)
		}
	}
}

// loop looks at the log every now and then, until nobody wants that any more or the machine is gone.
func (w *watches) loop(ctx context.Context, one *watch) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-one.joined:
			continue // the SDK hears of the new member after its look; the next one must not come in between
		case <-time.After(w.server.config.LogsPoll):
		}
		bound, cancel := context.WithTimeout(ctx, lookBound)
		err := w.look(bound, one)
		cancel()
		switch {
		case isNotFound(err):
			w.drop(one)
			return
		case err != nil && ctx.Err() == nil:
			w.server.log.Debug("subscription", "uri", one.uri.uri, "error", err)
		}
	}
}

// drop ends a watch for all its members.
func (w *watches) drop(one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one.stop()
	for _, m := range one.members {
		m.undo()
	}
	clear(one.members)
	if w.all[one.uri.uri] == one {
		delete(w.all, one.uri.uri)
	}
}

// look compares the log with what it was and tells the members if there is more. A log that was emptied is told of when it has lines again.
func (w *watches) look(ctx context.Context, one *watch) error {
	one.mu.Lock()
	defer one.mu.Unlock()
	info, err := one.uri.machine.Info(ctx)
	if err != nil {
		return err
	}
	if one.begun && (info.ID != one.id || !info.CreatedAt.Equal(one.made)) {
		return &ToolError{Code: CodeNotFound, Message: "the machine is another one", Err: smol.ErrNotFound}
	}
	var h maphash.Hash
	h.SetSeed(w.seed)
	lines, _, err := logLines(ctx, one.uri.machine, maxLogLines)
	if err != nil && !errors.Is(err, smol.ErrConflict) { // a machine that was never started has no console yet
		return err
	}
	for _, line := range lines {
		h.WriteString(line)
		h.WriteByte('\n')
	}
	count := len(lines)
	first := !one.begun
	more := count > 0 && (count != one.count || h.Sum64() != one.hash)
	// A log that has become shorter may be seen while it is emptied: the next look tells whether lines are left.
	if more && count < one.count && !one.shorter {
		one.shorter = true
		return nil
	}
	one.shorter = false
	one.begun, one.id, one.made, one.count, one.hash = true, info.ID, info.CreatedAt, count, h.Sum64()
	if first || !more {
		return nil
	}
	return w.server.mcp.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: one.uri.uri})
}
