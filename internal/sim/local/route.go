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

func (s *Server) routes() []route {
	const machines = "/api/v1/machines"
	one := machines + "/{name}"
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
		at(one+"/exec", post((*call).exec)),
	}
	return list
}
