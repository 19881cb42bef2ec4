package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/task"
)

type forkRequest struct {
	Name         string               `serde:"name"`
	Ports        []port               `serde:"ports,default"`
	ShareWeights bool                 `serde:"shareWeights,default"`
	WaitReady    bool                 `serde:"waitReady,default"`
	Hold         bool                 `serde:"hold,default"`
	ReadyTimeout *uint64              `serde:"readyTimeoutSecs"`
	Env          []string             `serde:"env,default"`
	Secrets      map[string]secretRef `serde:"secrets,default"`
	Branchable   bool                 `serde:"branchable,default"`
}

// forkEnv checks a list of KEY=VALUE. An entry without "=" would copy a variable of the real server's own environment; here there is none
// to copy, and such entries are dropped as unset ones are.
func forkEnv(list []string) ([]string, error) {
	var out []string
	for _, e := range list {
		key, value, ok := strings.Cut(e, "=")
		if !ok || key == "" {
			continue
		}
		if envRule(key) != "" {
			return nil, badRequest("config operation failed: fork env: invalid key '%s': must match [A-Za-z_][A-Za-z0-9_]*", key)
		}
		if strings.Contains(value, "\n") {
			return nil, badRequest("config operation failed: fork env: value for '%s' must not contain newlines", key)
		}
		out = append(out, e)
	}
	return out, nil
}

func (c *call) fork() (any, error) {
	var req forkRequest
	if err := c.decode(&req, nil); err != nil {
		return nil, err
	}
	env, err := c.checkFork(&req)
	if err != nil {
		return nil, err
	}
	m, err := c.locked(c.find)
	var api *apiError
	switch {
	case errors.As(err, &api) && (req.WaitReady || req.Hold):
		return nil, internal("agent operation failed: wait for forkpoint: vm not found: %s", c.params["name"])
	case errors.As(err, &api):
		return nil, notFound("vm not found: %s", c.params["name"])
	case err != nil:
		return nil, err
	}
	defer m.life.unlock()
	return c.branch(m, &req, env)
}

// checkFork does the checks before the source is looked at.
func (c *call) checkFork(req *forkRequest) ([]string, error) {
	for k := range req.Secrets {
		return nil, badRequest("fork secret '%s': there is nothing here to resolve it from", k)
	}
	env, err := forkEnv(req.Env)
	if err != nil {
		return nil, err
	}
	if req.Name == c.params["name"] {
		return nil, conflict("clone name '%s' is already used by the golden", req.Name)
	}
	if err := checkPorts(req.Ports); err != nil {
		return nil, err
	}
	if _, err := c.find(req.Name); err == nil {
		return nil, conflict("machine '%s' already exists", req.Name)
	}
	return env, nil
}

// branch makes a clone of a machine whose lock is held.
func (c *call) branch(m *machine, req *forkRequest, env []string) (any, error) {
	rec, v := m.snapshot()
	switch {
	case rec.State == statePaused:
		return nil, m.pausedRefusal()
	case v == nil && (req.WaitReady || req.Hold):
		return nil, internal("agent operation failed: wait for forkpoint: vm '%s' is not running", m.name)
	case v == nil || !rec.Forkable:
		return nil, conflict("agent operation failed: fork: golden '%s' is not running forkable; start it with %s", m.name, c.forkHint())
	}
	if wrong := checkName("clone name", req.Name); wrong != "" {
		return nil, internal("config operation failed: clone name: %s", wrong)
	}
	release, err := c.reserve(req.Name)
	if err != nil {
		return nil, err
	}
	child := rec
	child.Name, child.CreatedAt, child.Parent = req.Name, time.Now().Unix(), m.name
	child.State, child.PID, child.Frozen, child.UserStopped = stateCreated, 0, false, false
	child.Forkable, child.Held, child.Claimed = req.Branchable && c.version.branches(), req.Hold, false
	if child.Ports, err = clonePorts(rec.Ports, req.Ports); err != nil {
		release()
		return nil, internal("io operation failed: %v", err)
	}
	clone, err := task.Step(c.ctx, c.tasks, func() (*machine, error) {
		defer release()
		return c.bear(m, v, &child, env)
	}, nil)
	if err != nil {
		return nil, err
	}
	return clone.info(c.ctx), nil
}

func (s *Server) forkHint() string {
	if s.version.branches() {
		return "branchable=true (restart it if it runs)"
	}
	return "forkable=true"
}

// clonePorts gives a clone without ports of its own those of the source, on other ports of the host.
func clonePorts(source, own []port) ([]port, error) {
	if len(own) > 0 {
		return own, nil
	}
	clone := slices.Clone(source)
	for i := range clone {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		clone[i].Host = uint16(l.Addr().(*net.TCPAddr).Port)
		defer l.Close() // once all are known, so that they differ
	}
	return clone, nil
}

// bear copies the source's disks and boots the clone on them. It leaves nothing behind when it fails.
func (s *Server) bear(m *machine, v *vm, child *record, env []string) (*machine, error) {
	if err := s.store.Prepare(child.Name); err != nil {
		return nil, internal("io operation failed: %v", err)
	}
	rec, _ := m.snapshot()
	freezes := s.version.branchFreezes()
	err := v.inst.Freeze()
	if err == nil {
		err = s.o.Guest.Copy(context.WithoutCancel(s.tasks.Context()), s.store.Guest(child.Name), s.store.Guest(m.name))
	}
	if err == nil && freezes {
		err = m.update(func(r *record) { r.Frozen = true })
	}
	if !rec.Frozen && (err != nil || !freezes) {
		err = errors.Join(err, v.inst.Thaw())
	}
	if err != nil {
		return nil, s.stillborn(child, agentFailure("fork", err))
	}
	clone := &machine{s: s, name: child.Name, life: make(gate, 1), rec: *child, registered: true}
	cv, err := clone.boot(child, child.sent())
	if err != nil {
		var bind *bindErr
		if errors.As(err, &bind) {
			return nil, s.stillborn(child, fail(http.StatusConflict, "PORT_IN_USE", "%v", err))
		}
		return nil, s.stillborn(child, internal("%v", err))
	}
	text := strings.Join(append(env, ""), "\n")
	if _, err := cv.inst.WriteFile("/etc/smolvm/fork-env", strings.NewReader(text)); err != nil {
		s.o.Log.Warn("fork environment not written", "machine", child.Name, "err", err)
	}
	if err := clone.commit(cv, func(*record) {}); err != nil {
		return nil, s.stillborn(child, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machines[child.Name] = clone
	return clone, nil
}

// stillborn removes what there is of a clone and returns the reason.
func (s *Server) stillborn(child *record, reason error) error {
	if err := s.discard(child.Name); err != nil {
		s.o.Log.Warn("data directory not removed", "machine", child.Name, "err", err)
	}
	return reason
}

type forkReleaseRequest struct {
	Env []string `serde:"env,default"`
}

// forkRelease lets a held clone go.
func (c *call) forkRelease() (any, error) {
	var req forkReleaseRequest
	if err := c.decode(&req, nil); err != nil {
		return nil, err
	}
	env, err := forkEnv(req.Env)
	if err != nil {
		return nil, err
	}
	m, err := c.locked(c.find)
	if err != nil {
		return nil, err
	}
	defer m.life.unlock()
	rec, v := m.snapshot()
	switch {
	case rec.Claimed:
		return nil, conflict("machine '%s' was already claimed", m.name)
	case !rec.Held:
		return nil, conflict("machine '%s' is not a held fork-pool slot", m.name)
	}
	if err := m.update(func(r *record) { r.Held, r.Claimed = false, true }); err != nil {
		return nil, err
	}
	const spent = "slot '%s' was claimed and will not be reused after activation failed: %v"
	if v == nil {
		return nil, internal(spent, m.name, fmt.Errorf("it does not run"))
	}
	err = stepErr(c.Server, c.ctx, func() error {
		_, err := v.inst.WriteFile("/etc/smolvm/fork-env", strings.NewReader(strings.Join(append(env, ""), "\n")))
		return err
	}, nil)
	switch {
	case errors.Is(err, task.ErrAbandoned):
		return nil, err
	case err != nil:
		return nil, internal(spent, m.name, err)
	}
	return m.info(c.ctx), nil
}

// freezeAgain halts an adopted machine that was halted when its server went.
func (s *Server) freezeAgain(v *vm, rec *record) error {
	if !rec.Frozen && rec.State != statePaused {
		return nil
	}
	if err := v.inst.Freeze(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("machine %s: %w", rec.Name, err)
	}
	return nil
}
