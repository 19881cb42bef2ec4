package local

import (
	"net/http"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/sim/route"
)

// endpoint is a path and what it answers.
type endpoint struct {
	path    route.Pattern
	methods []method
}

type method struct {
	name string
	do   handler
	// slow routes have no time-out.
	slow bool
}

func at(pattern string, methods ...method) endpoint {
	return endpoint{route.New(pattern), methods}
}

func get(h handler) method     { return method{name: http.MethodGet, do: h} }
func getSlow(h handler) method { return method{name: http.MethodGet, do: h, slow: true} }
func post(h handler) method    { return method{name: http.MethodPost, do: h} }

// allow is the Allow header of a path for a method that it does not have.
func (t endpoint) allow() string {
	var names []string
	for _, m := range t.methods {
		names = append(names, m.name)
		if m.name == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	return strings.Join(names, ",")
}

func (t endpoint) method(name string) (method, bool) {
	if name == http.MethodHead {
		name = http.MethodGet
	}
	i := slices.IndexFunc(t.methods, func(m method) bool { return m.name == name })
	if i < 0 {
		return method{}, false
	}
	return t.methods[i], true
}

// routes are the routes of the release that is played.
func (s *Server) routes() []endpoint {
	const machines = "/api/v1/machines"
	one := machines + "/{name}"
	put := func(h handler) method { return method{name: http.MethodPut, do: h} }
	list := []endpoint{
		at("/health", get((*call).health)),
		at("/readyz", get((*call).readyz)),
		at("/capacity", get((*call).capacity)),
		at("/metrics", get((*call).metrics)),
		at("/drain", post((*call).drain)),
		at(machines, get((*call).list), post((*call).create)),
		at(one, get((*call).get), method{name: http.MethodDelete, do: (*call).delete}),
		at(one+"/start", post((*call).start)),
		at(one+"/stop", post((*call).stop)),
		at(one+"/fork", post((*call).fork)),
		at(one+"/fork-release", post((*call).forkRelease)),
		at(one+"/resize", post((*call).resize)),
		at(one+"/export", post((*call).export)),
		at(one+"/egress-events", get((*call).egressEvents)),
		at(one+"/exec", post((*call).exec)),
		at(one+"/exec/stream", post((*call).execStream)),
		at(one+"/exec/interactive", getSlow((*call).interactive)),
		at(one+"/run", post((*call).runImage)),
		at(one+"/logs", getSlow((*call).logs)),
		at(one+"/files/{*path}", get((*call).download), put((*call).upload)),
		at(one+"/images", get((*call).images)),
		at(one+"/images/pull", post((*call).pull)),
	}
	for _, later := range []struct {
		known bool
		at    endpoint
	}{
		{s.version.branches(), at(one+"/branches", post((*call).fork))},
		{s.version.checkpoints(), at(one+"/checkpoint", method{name: http.MethodPost, do: (*call).checkpoint, slow: true})},
		{s.version.syncs(), at(one+"/sync", post((*call).sync))},
		{s.version.pauses(), at(one+"/pause", post((*call).pause))},
		{s.version.pauses(), at(one+"/resume", post((*call).resume))},
	} {
		if later.known {
			list = append(list, later.at)
		}
	}
	return list
}
