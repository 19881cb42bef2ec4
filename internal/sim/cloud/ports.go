package cloud

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"

	"github.com/smol-machines/smol-go/internal/randhex"
	"github.com/smol-machines/smol-go/internal/sim/serde"
)

type portsRequest struct {
	Ports []portSpec `serde:"ports"`
}

// putPorts replaces the list of published ports, at once if the machine runs. Those that stay keep their host ports.
func (c *call) putPorts() (any, error) {
	var req portsRequest
	b, err := c.body(jsonLimit)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) {
		b = append(append([]byte(`{"ports":`), b...), '}')
	}
	if err := rejectJSON(serde.Decode(b, &req, nil)); err != nil {
		return nil, err
	}
	ports, err := checkPorts(req.Ports)
	if err != nil {
		return nil, err
	}
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	return exclusive(c, m, func() (any, error) {
		rec, v := m.snapshot()
		if v != nil && rec.State == stateStarted {
			ports = rehosted(rec.Ports, ports, rec.Seq)
		}
		err := m.update(func(r *record) {
			r.Ports = ports
			r.note(m.s, "info", "published ports replaced")
		})
		return m.json(), err
	})
}

// rehosted gives the new ports the host ports that they had, or free ones.
func rehosted(old, list []port, seq int) []port {
	taken := map[uint16]bool{}
	for i := range list {
		for _, p := range old {
			if p.Port == list[i].Port && p.HostPort != nil {
				list[i].HostPort, taken[*p.HostPort] = p.HostPort, true
			}
		}
	}
	for i := range list {
		for n := 0; list[i].HostPort == nil; n++ {
			if host := hostPort(seq, n); !taken[host] {
				list[i].HostPort, taken[host] = &host, true
			}
		}
	}
	return list
}

// hostPort is the nth port of the host for a machine.
func hostPort(seq, n int) uint16 { return uint16(30000 + (seq*2*maxPorts+n)%30000) }

// appsDomain is where ingress is told to be.
const appsDomain = "apps.smolmachines.com"

// share gives out a link that needs no key, in the place of an older one.
func (c *call) share() (any, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	token := "msh_" + randhex.String(16)
	if err := m.update(func(r *record) { r.Share = token }); err != nil {
		return nil, err
	}
	rec, _ := m.snapshot()
	answer := map[string]any{"token": token}
	if at := rec.ingress(); at != "" {
		answer["url"] = at + "?t=" + token
	}
	return answer, nil
}

func (c *call) unshare() (any, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	return reply{http.StatusNoContent, nil}, m.update(func(r *record) { r.Share = "" })
}

// portLinks gives out links to all published ports; asked again it gives the same.
func (c *call) portLinks() (any, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	err = m.update(func(r *record) {
		if r.Links == "" {
			r.Links = randhex.String(8)
		}
	})
	if err != nil {
		return nil, err
	}
	rec, _ := m.snapshot()
	links := []map[string]any{}
	for _, p := range rec.Ports {
		links = append(links, map[string]any{"port": p.Port, "url": fmt.Sprintf("https://p%d-%s.%s", p.Port, rec.Links, appsDomain)})
	}
	return map[string]any{"token": rec.Links, "links": links}, nil
}

func (c *call) revokeLinks() (any, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	return reply{http.StatusNoContent, nil}, m.update(func(r *record) { r.Links = "" })
}

// published returns the machine that the path names and its port, if it is published and the machine runs.
func (c *call) published() (*machine, *vm, int, error) {
	m, err := c.find()
	if err != nil {
		return nil, nil, 0, err
	}
	rec, v := m.snapshot()
	if only := c.who.machine; only != "" && only != rec.ID && !c.descends(&rec, only) {
		return nil, nil, 0, noMachine()
	}
	i := slices.IndexFunc(rec.Ports, func(p port) bool { return fmt.Sprint(p.Port) == c.params["port"] })
	switch {
	case i < 0:
		return nil, nil, 0, fail(http.StatusNotFound, "port %s is not published", c.params["port"])
	case v == nil || rec.State != stateStarted || rec.Frozen:
		return nil, nil, 0, fail(http.StatusServiceUnavailable, "machine is not running")
	}
	return m, v, int(rec.Ports[i].Port), nil
}

// descends reports whether a machine was branched, at some remove, from the one with the id.
func (s *Server) descends(rec *record, id string) bool {
	for parent := rec.Parent; parent != ""; {
		if parent == id {
			return true
		}
		s.mu.Lock()
		m, gone := s.machines[parent], s.past[parent]
		s.mu.Unlock()
		switch {
		case m != nil:
			up, _ := m.snapshot()
			parent = up.Parent
		case gone != nil:
			parent = gone.Parent
		default:
			return false
		}
	}
	return false
}
