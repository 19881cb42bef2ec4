package cloud

import (
	"maps"
	"net/http"
	"regexp"
	"time"

	"github.com/smol-machines/smol-go/internal/randhex"
)

// session is a directory and an environment for several commands.
type session struct {
	ID         string            `json:"id"`
	MachineID  string            `json:"machineId"`
	Status     string            `json:"status"`
	Cwd        *string           `json:"cwd"`
	Env        map[string]string `json:"env"`
	CreatedAt  time.Time         `json:"createdAt"`
	LastExecAt *time.Time        `json:"lastExecAt"`
}

type createMachineSessionRequest struct {
	ID  *string            `serde:"id"`
	Cwd *string            `serde:"cwd"`
	Env *map[string]string `serde:"env"`
}

// sessionForm is what the id of a session looks like.
var sessionForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

func (c *call) sessions() (any, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	rec, _ := m.snapshot()
	list := []session{}
	for _, id := range sortedKeys(rec.Sessions) {
		list = append(list, rec.Sessions[id])
	}
	return list, nil
}

func (c *call) createSession() (any, error) {
	var req createMachineSessionRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	ses := session{ID: valueOr(req.ID, "sess-"+randhex.String(8)), MachineID: m.id, Status: "active", Cwd: req.Cwd, CreatedAt: c.now()}
	if ses.Env = valueOr(req.Env, nil); ses.Env == nil {
		ses.Env = map[string]string{}
	}
	if !sessionForm.MatchString(ses.ID) || ses.ID == "." || ses.ID == ".." {
		return nil, badRequest("invalid session id %q", ses.ID)
	}
	if err := checkEnv(ses.Env); err != nil {
		return nil, err
	}
	taken := false
	err = m.update(func(r *record) {
		if _, taken = r.Sessions[ses.ID]; !taken {
			r.keep(ses)
		}
	})
	if taken {
		return nil, conflict("session '%s' already exists", ses.ID)
	}
	return ses, err
}

// keep puts a session in place, in a map of the record's own.
func (r *record) keep(ses session) {
	all := maps.Clone(r.Sessions)
	if all == nil {
		all = map[string]session{}
	}
	all[ses.ID] = ses
	r.Sessions = all
}

// findSession finds the machine and the session that the path names.
func (c *call) findSession() (*machine, session, error) {
	m, err := c.find()
	if err != nil {
		return nil, session{}, err
	}
	rec, _ := m.snapshot()
	ses, ok := rec.Sessions[c.params["sid"]]
	if !ok {
		return nil, session{}, fail(http.StatusNotFound, "session not found")
	}
	return m, ses, nil
}

func (c *call) deleteSession() (any, error) {
	m, ses, err := c.findSession()
	if err != nil {
		return nil, err
	}
	err = m.update(func(r *record) {
		r.Sessions = maps.Clone(r.Sessions)
		delete(r.Sessions, ses.ID)
	})
	return reply{http.StatusNoContent, nil}, err
}

// execSession runs a command with what the session sets, unless the command sets it itself.
func (c *call) execSession() (any, error) {
	req, output, err := c.execArgs()
	if err != nil {
		return nil, err
	}
	m, ses, err := c.findSession()
	if err != nil {
		return nil, err
	}
	if req.Cwd == nil {
		req.Cwd = ses.Cwd
	}
	env := maps.Clone(ses.Env)
	maps.Copy(env, valueOr(req.Env, nil))
	req.Env = &env
	now := c.now()
	ses.LastExecAt = &now
	if err := m.update(func(r *record) { r.keep(ses) }); err != nil {
		return nil, err
	}
	return c.command(req, output)
}
