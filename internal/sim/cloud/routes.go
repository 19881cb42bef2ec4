package cloud

import (
	"net/http"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/sim/route"
)

// entry is a path and what it answers.
type entry struct {
	path    route.Pattern
	methods []method
}

// method is what a path answers to one method; an empty name is for all.
type method struct {
	name string
	do   handler
	// scopes, of which one is needed. None: any key will do.
	scopes []string
	// public: without a key.
	public bool
	// idle: also for an account that is suspended.
	idle bool
	// socket: a WebSocket handshake may have its token in the query. Connect: a connect token will do.
	socket, connect bool
}

func at(pattern string, methods ...method) entry { return entry{route.New(pattern), methods} }

func get(h handler, scopes ...string) method {
	return method{name: http.MethodGet, do: h, scopes: scopes}
}

func post(h handler, scopes ...string) method {
	return method{name: http.MethodPost, do: h, scopes: scopes}
}

func put(h handler, scopes ...string) method {
	return method{name: http.MethodPut, do: h, scopes: scopes}
}

func del(h handler, scopes ...string) method {
	return method{name: http.MethodDelete, do: h, scopes: scopes}
}

// open makes a method public.
func open(m method, public bool) method {
	m.public = public
	return m
}

// socket lets a handshake have its token in the query; connect tokens will do if connect is set.
func socket(m method, connect bool) method {
	m.socket, m.connect = true, connect
	return m
}

// allow is the Allow header of a path for a method that it does not have.
func (e *entry) allow() string {
	var names []string
	for _, m := range e.methods {
		names = append(names, m.name)
		if m.name == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	return strings.Join(names, ",")
}

func (e *entry) method(name string) *method {
	if name == http.MethodHead {
		name = http.MethodGet
	}
	i := slices.IndexFunc(e.methods, func(m method) bool { return m.name == name || m.name == "" })
	if i < 0 {
		return nil
	}
	return &e.methods[i]
}

// The scopes of the routes.
const (
	scopeRead   = "machine:read"
	scopeCreate = "machine:create"
	scopeExec   = "machine:exec"
	scopeFiles  = "machine:files"
	scopeDelete = "machine:delete"
	scopeUsage  = "usage:read"
)

const (
	machines = "/v1/machines"
	one      = machines + "/{id}"
)

// routes are the routes of the release that is played.
func (s *Server) routes() []entry {
	table := slices.Concat(s.accountRoutes(), lifeRoutes(), workRoutes(), copyRoutes())
	if s.o.Old.ForkOnly {
		table = slices.DeleteFunc(table, func(e entry) bool { return slices.Contains(e.path, "branches") })
	}
	return table
}

// accountRoutes tell about the service and the account.
func (s *Server) accountRoutes() []entry {
	spec := s.o.OpenInfo
	always := func(m method) method {
		m.idle = true
		return m
	}
	return []entry{
		at("/health", open(get((*call).health), true)),
		at("/livez", open(get((*call).ok), spec)),
		at("/readyz", open(get((*call).ok), spec)),
		at("/v1/pricing", open(get((*call).pricing), spec)),
		at("/v1/status/machines", open(get((*call).machinesStatus), spec)),
		at("/v1/me", always(get((*call).me))),
		at("/v1/account", always(get((*call).account, scopeUsage, scopeRead))),
		at("/v1/account/plans", get((*call).plans)),
		at("/v1/usage", get((*call).accountUsage, "admin", scopeUsage)),
	}
}

// lifeRoutes are about machines as a whole.
func lifeRoutes() []entry {
	return []entry{
		at(machines, get((*call).list, scopeRead), post((*call).create, scopeCreate)),
		at(one, get((*call).get, scopeRead), del((*call).delete, scopeDelete)),
		at(one+"/start", post((*call).start, scopeCreate)),
		at(one+"/stop", post((*call).stop, scopeCreate)),
		at(one+"/pause", post((*call).pause, scopeCreate)),
		at(one+"/resume", post((*call).resume, scopeCreate)),
		at(one+"/resize", post((*call).resize, scopeCreate)),
		at(one+"/events", get((*call).history, scopeRead)),
		at(one+"/logs", get((*call).logs, scopeRead)),
		at(one+"/usage", get((*call).usage, scopeRead)),
	}
}

// workRoutes are about what goes on in a machine, and the ways into it.
func workRoutes() []entry {
	bridge := socket(method{do: (*call).connect, scopes: []string{scopeExec}}, true)
	return []entry{
		at(one+"/exec", post((*call).exec, scopeExec)),
		at(one+"/exec/stream", post((*call).execStream, scopeExec)),
		at(one+"/code", post((*call).code, scopeExec)),
		at(one+"/sessions", get((*call).sessions, scopeRead), post((*call).createSession, scopeExec)),
		at(one+"/sessions/{sid}", del((*call).deleteSession, scopeExec)),
		at(one+"/sessions/{sid}/exec", post((*call).execSession, scopeExec)),
		at(one+"/files/{*path}", get((*call).download, scopeFiles), put((*call).upload, scopeFiles)),
		at(one+"/exec/interactive", socket(get((*call).terminal, scopeExec), false)),
		at(one+"/ports", put((*call).putPorts, scopeCreate)),
		at(one+"/port-links", post((*call).portLinks, scopeCreate), del((*call).revokeLinks, scopeCreate)),
		at(one+"/share", post((*call).share, scopeCreate), del((*call).unshare, scopeCreate)),
		at(one+"/connect/{port}", bridge),
		at(one+"/connect/{port}/", bridge),
		at(one+"/connect/{port}/{*rest}", bridge),
		at(one+"/connect-token", post((*call).makeToken, scopeExec)),
		at(one+"/tunnel/{port}", socket(get((*call).tunnel, scopeExec), true)),
	}
}

// copyRoutes are about what is kept of machines and made into others, and about what is given to them.
func copyRoutes() []entry {
	return []entry{
		at(one+"/export", post((*call).export, scopeCreate)),
		at("/v1/cache-disks", get((*call).listCaches, scopeRead), post((*call).createCache, scopeCreate)),
		at("/v1/cache-disks/{id}", get((*call).getCache, scopeRead), del((*call).deleteCache, scopeDelete)),
		at(one+"/cache-disk/publish", post((*call).publish, scopeCreate)),
		at("/v1/credentials", get((*call).listCredentials, scopeRead)),
		at("/v1/credentials/{name}", put((*call).putCredential, scopeCreate), del((*call).deleteCredential, scopeDelete)),
		at(one+"/branches", post((*call).branch, scopeCreate)),
		at(one+"/branches/batch", post((*call).branchBatch, scopeCreate)),
		at(one+"/fork", post((*call).branch, scopeCreate)),
		at(one+"/fork-batch", post((*call).branchBatch, scopeCreate)),
		at(one+"/lineage", get((*call).lineage, scopeRead)),
		at(one+"/checkpoints", get((*call).listPoints, scopeRead), post((*call).capture, scopeCreate)),
		at(one+"/rollback", post((*call).rollback, scopeCreate)),
		at("/v1/checkpoints", post((*call).beginUpload, scopeCreate)),
		at("/v1/checkpoints/{id}", get((*call).getPoint, scopeRead), del((*call).deletePoint, scopeDelete)),
		at("/v1/checkpoints/{id}/complete", post((*call).completeUpload, scopeCreate)),
		at("/v1/checkpoints/{id}/download", get((*call).downloadPoint, scopeFiles, scopeExec)),
		at("/v1/checkpoints/{id}/restore", post((*call).restore, scopeCreate)),
		at("/uploads/{id}/{part}", open(put((*call).uploadPart), true)),
		at(one+"/snapshot", post((*call).snapshots, scopeCreate)),
		at(one+"/snapshots", get((*call).snapshots, scopeRead)),
	}
}
