package local_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// wireFact is one transcript of testdata/wire; README.md there describes the form.
type wireFact struct {
	name       string // without .txtar
	comment    string
	directives [][]string
	steps      []wireStep
}

// system is the operating system that the fact holds on, or "".
func (f *wireFact) system() string {
	for _, d := range f.directives {
		if d[0] == "only" && len(d) == 2 {
			return d[1]
		}
	}
	return ""
}

// wireStep is one thing a transcript does: a set-up line, an action, or a request with the reply that it must get.
type wireStep struct {
	kind    string // setup, do, request, open, more, abandon
	text    string // of setup and do: one line; of a request: what is sent
	times   int    // of open
	reply   wireReply
	section int // its place in the file, counted from 1, for messages
}

// wireReply is what a reply must look like.
type wireReply struct {
	status    string
	headers   [][2]string // name, pattern; the name is lower case, and begins with "!" if the header must not be there
	body      string
	checkBody bool
}

// wireFacts reads all transcripts.
func wireFacts(dir string) ([]*wireFact, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	var facts []*wireFact
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			return nil, err
		}
		f, err := parseWireFact(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		f.name = strings.TrimSuffix(filepath.Base(p), ".txtar")
		facts = append(facts, f)
	}
	return facts, nil
}

func parseWireFact(a *txtar.Archive) (*wireFact, error) {
	f := &wireFact{}
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
					f.steps = append(f.steps, wireStep{kind: kind, text: line, section: i + 1})
				}
			}
		case "more", "abandon":
			f.steps = append(f.steps, wireStep{kind: kind, text: string(data), section: i + 1})
		case "request", "open":
			s := wireStep{kind: kind, text: string(data), times: 1, section: i + 1}
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
			reply, err := parseWireReply(a.Files[i].Data)
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

func parseWireReply(data []byte) (wireReply, error) {
	head, body, hasBody := bytes.Cut(data, []byte("\n\n"))
	r := wireReply{body: strings.TrimSuffix(string(body), "\n"), checkBody: hasBody}
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

// wireRequest turns the text of a request into what is sent: line ends, Host and Content-Length are added where they are not written.
func wireRequest(text string) (method string, raw []byte) {
	head, body, hasBody := strings.Cut(text, "\n\n")
	head = strings.TrimSuffix(head, "\n")
	body = strings.TrimSuffix(body, "\n")
	lower := strings.ToLower(head)
	lines := strings.Split(head, "\n")
	if !strings.Contains(lower, "\nhost:") {
		lines = append(lines, "host: localhost")
	}
	if hasBody && !strings.Contains(lower, "\ncontent-length:") && !strings.Contains(lower, "\ntransfer-encoding:") && !strings.Contains(lower, "\nupgrade:") {
		lines = append(lines, "content-length: "+strconv.Itoa(len(body)))
	}
	method, _, _ = strings.Cut(head, " ")
	return method, []byte(strings.Join(lines, "\r\n") + "\r\n\r\n" + body)
}
