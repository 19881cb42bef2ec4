package wiretest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// fact is one transcript; testdata/wire/README.md describes the form.
type fact struct {
	name       string // without .txtar
	comment    string
	directives [][]string
	steps      []step
}

// system is the operating system that the fact holds on, or "".
func (f *fact) system() string {
	for _, d := range f.directives {
		if d[0] == "only" && len(d) == 2 {
			return d[1]
		}
	}
	return ""
}

// step is one thing a transcript does: a set-up line, an action, or a request with the reply that it must get.
type step struct {
	kind    string // setup, do, request, open, more, abandon
	text    string // of setup and do: one line; of a request: what is sent
	times   int    // of open
	reply   reply
	section int // its place in the file, counted from 1, for messages
}

// reply is what a reply must look like.
type reply struct {
	status    string
	headers   [][2]string // name, pattern; the name is lower case, and begins with "!" if the header must not be there
	body      string
	checkBody bool
}

// facts reads all transcripts.
func facts(dir string) ([]*fact, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	var facts []*fact
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			return nil, err
		}
		f, err := parseFact(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		f.name = strings.TrimSuffix(filepath.Base(p), ".txtar")
		facts = append(facts, f)
	}
	return facts, nil
}

func parseFact(a *txtar.Archive) (*fact, error) {
	f := &fact{}
	for line := range strings.Lines(string(a.Comment)) {
		line = strings.TrimSpace(line)
		if prose, ok := strings.CutPrefix(line, "#"); ok {
			f.comment += strings.TrimSpace(prose) + "\n"
		} else if line != "" {
			f.directives = append(f.directives, strings.Fields(line))
		}
	}
	for i := 0; i < len(a.Files); i++ {
		kind, count, _ := strings.Cut(a.Files[i].Name, " ")
		data := a.Files[i].Data
		switch kind {
		case "setup", "do":
			for line := range strings.Lines(string(data)) {
				if line = strings.TrimSpace(line); line != "" {
					f.steps = append(f.steps, step{kind: kind, text: line, section: i + 1})
				}
			}
		case "more", "abandon":
			f.steps = append(f.steps, step{kind: kind, text: string(data), section: i + 1})
		case "request", "open":
			s := step{kind: kind, text: string(data), times: 1, section: i + 1}
			if count != "" {
				n, err := strconv.Atoi(count)
				if err != nil {
					return nil, fmt.Errorf("section %d: %q is no number", i+1, count)
				}
				s.times = n
			}
			if i++; i == len(a.Files) || a.Files[i].Name != "reply" {
				return nil, fmt.Errorf("section %d: a request without a reply", i)
			}
			reply, err := parseReply(a.Files[i].Data)
			if err != nil {
				return nil, fmt.Errorf("section %d: %w", i+1, err)
			}
			s.reply = reply
			f.steps = append(f.steps, s)
		default:
			return nil, fmt.Errorf("section %d: %q is not setup, do, request, open, more, abandon or reply", i+1, kind)
		}
	}
	return f, nil
}

func parseReply(data []byte) (reply, error) {
	head, body, hasBody := bytes.Cut(data, []byte("\n\n"))
	r := reply{body: strings.TrimSuffix(string(body), "\n"), checkBody: hasBody}
	for i, line := range strings.Split(strings.TrimSuffix(string(head), "\n"), "\n") {
		if i == 0 {
			status, ok := strings.CutPrefix(line, "HTTP/1.1 ")
			if !ok || len(status) != 3 {
				return r, fmt.Errorf("%q is no status line", line)
			}
			r.status = status
			continue
		}
		name, value, ok := strings.Cut(line, ": ")
		if !ok && !strings.HasPrefix(name, "!") {
			return r, fmt.Errorf("%q is no header", line)
		}
		r.headers = append(r.headers, [2]string{strings.ToLower(name), value})
	}
	return r, nil
}

// request turns the text of a request into what is sent. Line ends, Host, Content-Length and the service's own headers are added where they are
// not written; the line "!NAME" keeps the header NAME from being added.
func request(text string, added [][2]string) (method string, raw []byte) {
	head, body, hasBody := strings.Cut(text, "\n\n")
	body = strings.TrimSuffix(body, "\n")
	var lines []string
	written := map[string]bool{}
	for i, line := range strings.Split(strings.TrimSuffix(head, "\n"), "\n") {
		name, isNot := strings.CutPrefix(line, "!")
		if i > 0 {
			name, _, _ = strings.Cut(name, ":")
			written[strings.ToLower(name)] = true
		}
		if i == 0 || !isNot {
			lines = append(lines, line)
		}
	}
	if hasBody && !written["transfer-encoding"] && !written["upgrade"] {
		added = append(slices.Clone(added), [2]string{"content-length", strconv.Itoa(len(body))})
	}
	for _, h := range append(slices.Clone(added), [2]string{"host", "localhost"}) {
		if !written[h[0]] {
			written[h[0]] = true
			lines = append(lines, h[0]+": "+h[1])
		}
	}
	method, _, _ = strings.Cut(head, " ")
	return method, []byte(strings.Join(lines, "\r\n") + "\r\n\r\n" + body)
}
