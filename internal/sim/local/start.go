package local

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/smol-machines/smol-go/internal/sim/serde"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

const startBusy = "agent operation failed: start agent: another process is already starting or running this VM"

type startQuery struct {
	Forkable     *bool   `serde:"forkable"`
	ForkPoolSize *uint32 `serde:"forkPoolSize"`
	VRAMLimit    *uint64 `serde:"cudaVramLimitMib"`
}

// startQuery114 knows the later spelling too.
type startQuery114 struct {
	Forkable     *bool   `serde:"forkable|branchable"`
	ForkPoolSize *uint32 `serde:"forkPoolSize"`
	VRAMLimit    *uint64 `serde:"cudaVramLimitMib"`
}

type startBody struct {
	RegistryAuth *registryAuth `serde:"registryAuth"`
}

type registryAuth struct {
	Username string `serde:"username"`
	Password string `serde:"password"`
}

// startArgs decodes the query and the optional body of start.
func (c *call) startArgs() (startQuery, error) {
	var q startQuery
	var err error
	if c.version.branches() {
		var later startQuery114
		err = c.query(&later)
		q = startQuery(later)
	} else {
		err = c.query(&q)
	}
	contentType := c.r.Header.Get("Content-Type")
	if err != nil || contentType == "" {
		return q, err
	}
	var body startBody
	if !isJSON(contentType) {
		return q, c.decode(&body, nil)
	}
	b, err := c.body(jsonLimit)
	if err != nil || len(b) == 0 && c.version.startTakesNoBody() {
		return q, err
	}
	return q, rejectJSON(serde.Decode(b, &body, nil))
}

func (c *call) start() (any, error) {
	q, err := c.startArgs()
	if err != nil {
		return nil, err
	}
	m, err := c.locked(c.find)
	if err != nil {
		return nil, err
	}
	defer m.life.unlock()
	switch m.state(c.ctx) {
	case stateRunning:
		return m.info(c.ctx), nil
	case stateFrozen:
		return nil, m.frozenRefusal()
	case statePaused:
		return nil, m.pausedRefusal()
	case stateUnreachable:
		if err := m.reboot(c.ctx); err != nil {
			return nil, internal("machine '%s' is unreachable and zombie cleanup failed: %v", m.name, err)
		}
	}
	if err := m.checkPool(q); err != nil {
		return nil, err
	}
	if m.held(true) {
		return nil, internal("failed to start machine: %s", startBusy)
	}
	rec, _ := m.snapshot()
	_, err = m.up(c.ctx, rec.sent(), func(r *record) {
		r.Forkable = r.Forkable || q.Forkable != nil && *q.Forkable
		m.userStopped, m.restarts = r.UserStopped, 0 // as it was before the flag is cleared
		r.UserStopped = false
	})
	if err != nil {
		return nil, startFailure(err, true)
	}
	return m.info(c.ctx), nil
}

// startFailure is the answer to a start that failed; an explicit start has more to say.
func startFailure(err error, explicit bool) error {
	var api *apiError
	var pull *pullError
	var bind *bindErr
	switch {
	case errors.Is(err, task.ErrAbandoned), errors.As(err, &api):
		return err
	case errors.As(err, &pull):
		return internal("%v", err)
	case errors.As(err, &bind) && explicit:
		return fail(http.StatusConflict, "PORT_IN_USE", "%v", err)
	case explicit:
		return internal("failed to start machine: %v", err)
	}
	return internal("%s", reason(err))
}

// reason is the text of an agent's error without what operation it was.
func reason(err error) string {
	text := err.Error()
	for _, op := range []string{"start agent", "monitor agent"} {
		prefix := "agent operation failed: " + op + ": "
		if len(text) > len(prefix) && text[:len(prefix)] == prefix {
			return text[len(prefix):]
		}
	}
	return text
}

func (m *machine) checkPool(q startQuery) error {
	rec, _ := m.snapshot()
	switch {
	case q.ForkPoolSize != nil && *q.ForkPoolSize == 0:
		return badRequest("forkPoolSize must be greater than zero")
	case q.ForkPoolSize != nil && !rec.CUDA:
		return badRequest("forkPoolSize requires a CUDA-enabled machine")
	case q.VRAMLimit != nil && *q.VRAMLimit == 0:
		return badRequest("cudaVramLimitMib must be greater than zero")
	case q.VRAMLimit != nil && q.ForkPoolSize == nil:
		return badRequest("cudaVramLimitMib requires forkPoolSize")
	}
	return nil
}

// held reports whether another start holds the machine's own lock. A machine in limbo is killed by who asks for a start, which frees it.
func (m *machine) held(killLimbo bool) bool {
	m.mu.Lock()
	limbo, held := m.limbo, m.booting != nil || m.stale
	if killLimbo {
		m.limbo = nil
	}
	m.mu.Unlock()
	if limbo != nil && killLimbo {
		_ = limbo.kill()
	}
	return held || limbo != nil
}

// down kills what runs and forgets it; the record stays.
func (m *machine) down() error {
	m.mu.Lock()
	v := m.vm
	m.mu.Unlock()
	if err := v.kill(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.vm == v {
		m.vm = nil
	}
	return nil
}

// reboot takes the machine for dead: it ends it, so that it can be started again, and counts that.
func (m *machine) reboot(ctx context.Context) error {
	m.mu.Lock()
	m.reboots++
	m.mu.Unlock()
	return stepErr(m.s, ctx, m.down, nil)
}

// ready is what every call that needs the machine to run does first, under the machine's lock: it boots a machine that does not run, adopts one
// that an abandoned start left, and reboots one that does not answer. It takes one of the machine's connections, which the caller gives back.
func (c *call) ready() (*machine, *vm, error) {
	m, err := c.locked(c.registered)
	if err != nil {
		return nil, nil, err
	}
	defer m.life.unlock()
	rec, v := m.snapshot()
	if err := checkMounts(rec.Mounts); err != nil {
		return nil, nil, badRequest("mount validation failed: %v", err)
	}
	switch {
	case rec.State == statePaused:
		return nil, nil, m.pausedRefusal()
	case v != nil && rec.Frozen:
		return nil, nil, m.thaw(c.ctx)
	case v == nil:
		v, err = m.implicit(c.ctx)
	case !slices.Equal(v.sources, rec.resolved()):
		if err = m.reboot(c.ctx); err == nil {
			v, err = m.implicit(c.ctx)
		}
	case v.connect(c.ctx, c.o.Probe):
		return m, v, m.cleared()
	case c.ctx.Err() != nil:
		return nil, nil, task.ErrAbandoned
	default:
		if err = m.reboot(c.ctx); err == nil {
			v, err = m.implicit(c.ctx)
		}
	}
	if err != nil {
		return nil, nil, startFailure(err, false)
	}
	if !v.connect(c.ctx, c.o.Probe) {
		return nil, nil, internal("agent operation failed: connect to agent: machine '%s' does not answer", m.name)
	}
	return m, v, m.cleared()
}

// implicit boots the machine for a call that needs it, or adopts what an abandoned start left.
func (m *machine) implicit(ctx context.Context) (*vm, error) {
	m.mu.Lock()
	booting := m.booting
	m.mu.Unlock()
	if booting != nil {
		select {
		case <-booting:
		case <-ctx.Done():
			return nil, task.ErrAbandoned
		}
	}
	m.mu.Lock()
	limbo := m.limbo
	m.mu.Unlock()
	if limbo != nil && limbo.alive() {
		return limbo, m.commit(limbo, func(*record) {})
	}
	rec, _ := m.snapshot()
	return m.up(ctx, rec.resolved(), func(*record) {})
}

// cleared notes that somebody uses the machine, so that the supervisor restarts it again.
func (m *machine) cleared() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.userStopped = false
	return nil
}

// thaw is what a call does to a frozen machine: it stops it, and fails.
func (m *machine) thaw(ctx context.Context) error {
	clones := m.s.clones(m.name)
	if err := stepErr(m.s, ctx, m.down, nil); err != nil {
		return err
	}
	return internal("%s is a fork base for %s; delete the clones first", fmt.Sprintf("machine '%s'", m.name), liveClones(clones))
}
