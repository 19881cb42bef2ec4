package guest

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parse reads back the request from which Command built argv, for guests that answer in Go: a *[Start], *[Poll], *[Signal],
// *[Setup], *[List], *[Grep], *[Remove] or *[Prune]. It reports false for every other argv. What a start has in files is read by [Start.Resolve].
func Parse(argv []string) (request any, ok bool) {
	if len(argv) < firstArg || path.Base(argv[0]) != "sh" || argv[1] != "-c" || argv[nameArg] != Name {
		return nil, false
	}
	p := &parser{rest: argv[firstArg:]}
	switch argv[scriptArg] {
	case startScript:
		request = p.start()
	case pollScript:
		request = &Poll{Bases: p.words(), ID: p.next(), View: p.view()}
	case signalScript:
		request = &Signal{Bases: p.words(), ID: p.next(), Signal: p.signal(), Known: p.flag()}
	case setupScript:
		request = p.setup()
	case listScript:
		request = &List{Bases: p.words()}
	case grepScript:
		request = p.grep()
	case removeScript:
		request = &Remove{Bases: p.words(), ID: p.next()}
	case pruneScript:
		request = &Prune{Bases: p.words(), Keep: int(p.int()), Age: time.Duration(p.int()) * time.Second}
	default:
		return nil, false
	}
	if p.bad || len(p.rest) > 0 {
		return nil, false
	}
	return request, true
}

// Resolve completes a start that [Parse] returned with what lies in files of the machine; open reads one of them. Afterwards they can be
// removed. It returns the first error of open, or an [ErrNoJob] for a file that is not the library's.
func (s *Start) Resolve(open func(path string) ([]byte, error)) error {
	if s.args != "" {
		data, err := open(s.args)
		if err != nil {
			return err
		}
		f, ok := parseFragment(string(data))
		if !ok || len(f.argv) == 0 {
			return &FieldError{"argv", ErrNoJob}
		}
		s.Argv, s.Env, s.args = f.argv, f.env, ""
	}
	if s.script == "" {
		return nil
	}
	if n := slices.Index(s.Argv, scriptCommand(s.script)); n > 0 {
		data, err := open(s.script)
		if err != nil {
			return err
		}
		s.Argv[n] = string(data)
	}
	s.script = ""
	return nil
}

// Files returns the files that [Start.Resolve] may read.
func (s *Start) Files() (paths []string) {
	for _, p := range []string{s.args, s.script} {
		if p != "" {
			paths = append(paths, p)
		}
	}
	return paths
}

// parser takes arguments off one by one; after the first wrong one everything is wrong.
type parser struct {
	rest []string
	bad  bool
}

func (p *parser) start() *Start {
	s := &Start{Bases: p.words(), ID: p.next(), Timeout: p.seconds(), Dir: p.next(), Stdin: p.next(), Ack: p.words()}
	s.args = p.next()
	f, ok := parseFragment(p.next())
	s.Limit, s.Note = p.int(), p.next()
	s.View = p.view()
	s.Argv, s.Env = f.argv, f.env
	if p.bad || !ok || len(s.Bases) == 0 || (len(s.Argv) == 0) != (s.args != "") {
		p.bad = true
		return nil
	}
	if name := s.file(".script"); s.args != "" || slices.Contains(s.Argv, scriptCommand(name)) {
		s.script = name
	}
	return s
}

func (p *parser) setup() *Setup {
	s := &Setup{Bases: p.words()}
	if len(p.rest) == 0 {
		return s
	}
	f, ok := parseFragment(strings.Join(p.rest, ""))
	p.rest = nil
	p.bad = p.bad || !ok || f.argv != nil
	s.Dir = f.dir
	if s.Dir != "" && f.env == nil {
		return s
	}
	s.Env = map[string]string{}
	for _, kv := range f.env {
		name, value, _ := strings.Cut(kv, "=")
		s.Env[name] = value
	}
	return s
}

func (p *parser) view() View {
	return View{
		Wait: p.seconds(), News: p.flag(), Clip: p.flag(), Hush: p.flag(),
		Budget: p.int(), Stdout: p.int(), Stderr: p.int(),
	}
}

func (p *parser) next() string {
	if len(p.rest) == 0 {
		p.bad = true
		return ""
	}
	s := p.rest[0]
	p.rest = p.rest[1:]
	return s
}

func (p *parser) flag() bool { return p.next() == "1" }

func (p *parser) words() []string {
	if s := p.next(); s != "" {
		return strings.Split(s, " ")
	}
	return nil
}

func (p *parser) int() int64 {
	n, err := strconv.ParseInt(p.next(), 10, 64)
	p.bad = p.bad || err != nil
	return n
}

func (p *parser) seconds() time.Duration {
	d, ok := parseSeconds(p.next())
	p.bad = p.bad || !ok
	return d
}

// parseSeconds reads a number of seconds with two decimals.
func parseSeconds(s string) (time.Duration, bool) {
	whole, hundredths, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole+hundredths, 10, 64)
	if err != nil || n < 0 || len(hundredths) != 2 || n > int64(maxTime/tick) {
		return 0, false
	}
	return time.Duration(n) * tick, true
}

func (p *parser) signal() string {
	number := p.next()
	for name, n := range signals {
		if strconv.Itoa(n) == number {
			return name
		}
	}
	p.bad = true
	return ""
}
