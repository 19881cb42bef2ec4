package local

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// route is a path and what it answers. Segments in braces match anything but nothing; {*x} matches the rest, which is not nothing.
type route struct {
	segments []string
	methods  []method
}

type method struct {
	name string
	do   handler
	// slow routes have no time-out.
	slow bool
}

func at(pattern string, methods ...method) route {
	return route{strings.Split(pattern, "/"), methods}
}

func get(h handler) method     { return method{name: http.MethodGet, do: h} }
func getSlow(h handler) method { return method{name: http.MethodGet, do: h, slow: true} }
func post(h handler) method    { return method{name: http.MethodPost, do: h} }

// match returns the parameters in a path as it was sent, escapes and all.
func (t route) match(path []string) (map[string]string, bool) {
	params := map[string]string{}
	for i, s := range t.segments {
		if rest, ok := strings.CutPrefix(s, "{*"); ok {
			if i >= len(path) {
				return nil, false
			}
			all := strings.Join(path[i:], "/")
			params[strings.TrimSuffix(rest, "}")] = all
			return params, all != ""
		}
		if i >= len(path) {
			return nil, false
		}
		name, ok := strings.CutPrefix(s, "{")
		switch {
		case ok && path[i] == "", !ok && path[i] != s:
			return nil, false
		case ok:
			params[strings.TrimSuffix(name, "}")] = path[i]
		}
	}
	return params, len(path) == len(t.segments)
}

// allow is the Allow header of a path for a method that it does not have.
func (t route) allow() string {
	var names []string
	for _, m := range t.methods {
		names = append(names, m.name)
		if m.name == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	return strings.Join(names, ",")
}

func (t route) method(name string) (method, bool) {
	if name == http.MethodHead {
		name = http.MethodGet
	}
	i := slices.IndexFunc(t.methods, func(m method) bool { return m.name == name })
	if i < 0 {
		return method{}, false
	}
	return t.methods[i], true
}

// unescapeParams decodes the parameters; it names one that is not UTF-8 then.
func unescapeParams(params map[string]string) (bad string) {
	for name, v := range params {
		plain, err := url.PathUnescape(v)
		if err != nil {
			continue
		}
		if !utf8.ValidString(plain) {
			return name
		}
		params[name] = plain
	}
	return ""
}

// routes are the routes of the release that is played.
func (s *Server) routes() []route {
	const machines = "/api/v1/machines"
	one := machines + "/{name}"
	put := func(h handler) method { return method{name: http.MethodPut, do: h} }
	list := []route{
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
		route route
	}{
		{s.version.branches(), at(one+"/branches", post((*call).fork))},
		{s.version.checkpoints(), at(one+"/checkpoint", method{name: http.MethodPost, do: (*call).checkpoint, slow: true})},
		{s.version.syncs(), at(one+"/sync", post((*call).sync))},
		{s.version.pauses(), at(one+"/pause", post((*call).pause))},
		{s.version.pauses(), at(one+"/resume", post((*call).resume))},
	} {
		if later.known {
			list = append(list, later.route)
		}
	}
	return list
}
