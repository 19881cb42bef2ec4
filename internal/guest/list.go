package guest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// List asks for the jobs whose ids begin as those of [NewID] do. Its reply is read by [ParseList].
type List struct{ Bases []string }

// Listed is what a machine tells of a job without its output.
type Listed struct {
	// ID names the job.
	ID string
	// State and Code are those of [Reply], and so are Started and Ended.
	State          State
	Code           int
	Started, Ended time.Duration
	// Note is that of the job's [Start].
	Note string
}

// Remove removes the files of a job that does not run; one that runs is [ErrBusy]. The reply is [Ready].
type Remove struct {
	Bases []string
	ID    string
}

// Prune removes the files of jobs that ended Age ago or earlier, beyond the newest Keep of each base. The reply is [Ready], with the number
// of jobs in the place of StdoutSize.
type Prune struct {
	Bases []string
	Keep  int
	Age   time.Duration
}

// Grep looks for lines in the output of a job. The reply is that of a poll, its streams being the matching lines of the job's streams, each after
// its number and a colon, clipped to the budget.
type Grep struct {
	Bases []string
	ID    string
	// Pattern is an extended regular expression of POSIX, or with Fixed a text.
	Pattern           string
	Fixed, IgnoreCase bool
	// Budget is the most bytes of each stream.
	Budget int64
}

// View is how the reply to g is to be read.
func (g *Grep) View() View { return View{Budget: g.Budget, Clip: true} }

// Command returns the argv of the exec. An error is a [*FieldError].
func (l *List) Command() ([]string, error) {
	var c check
	c.bases(l.Bases)
	if c.err != nil {
		return nil, c.err
	}
	return shArgv(listScript, strings.Join(l.Bases, " ")), nil
}

// Command returns the argv of the exec. An error is a [*FieldError].
func (r *Remove) Command() ([]string, error) {
	var c check
	c.id("id", r.ID)
	c.bases(r.Bases)
	if c.err != nil {
		return nil, c.err
	}
	return shArgv(removeScript, strings.Join(r.Bases, " "), r.ID), nil
}

// Command returns the argv of the exec. An error is a [*FieldError].
func (p *Prune) Command() ([]string, error) {
	var c check
	c.bases(p.Bases)
	c.time("age", p.Age)
	if p.Keep < 0 || p.Keep > maxBudget {
		c.fail("keep", "%d jobs; it must be from 0 to %d", p.Keep, maxBudget)
	}
	if c.err != nil {
		return nil, c.err
	}
	age := (p.Age + time.Second - 1) / time.Second
	return shArgv(pruneScript, strings.Join(p.Bases, " "), strconv.Itoa(p.Keep), strconv.FormatInt(int64(age), 10)), nil
}

// The flags of grep: an extended regular expression or a text, and in either case also without regard to upper and lower case.
const (
	grepExtended = "-E"
	grepFixed    = "-F"
	grepCase     = " -i"
)

// Command returns the argv of the exec. An error is a [*FieldError].
func (g *Grep) Command() ([]string, error) {
	var c check
	c.id("id", g.ID)
	c.bases(g.Bases)
	c.arg("pattern", g.Pattern)
	if strings.Contains(g.Pattern, "\n") {
		c.fail("pattern", "it has several lines; lines are looked at one by one")
	}
	view := g.View()
	c.view(&view)
	if c.err != nil {
		return nil, c.err
	}
	flags := grepExtended
	if g.Fixed {
		flags = grepFixed
	}
	if g.IgnoreCase {
		flags += grepCase
	}
	return shArgv(grepScript, strings.Join(g.Bases, " "), g.ID, flags, g.Pattern, strconv.FormatInt(g.Budget, 10)), nil
}

func (p *parser) grep() *Grep {
	g := &Grep{Bases: p.words(), ID: p.next()}
	flags, ignore := strings.CutSuffix(p.next(), grepCase)
	g.Fixed, g.IgnoreCase = flags == grepFixed, ignore
	p.bad = p.bad || !g.Fixed && flags != grepExtended
	g.Pattern, g.Budget = p.next(), p.int()
	return g
}

// The lines around a list. Between them each job is a line: ID STATE CODE STARTED ENDED NOTE.
const (
	listHead = Name + " list\n"
	listEnd  = "end\n"
)

// ParseList reads what the runner wrote in answer to a [List]. It returns [ErrNoShell] if that is not the runner's, and [ErrShort] if it has no end.
// A job of which nonsense is told is [Lost], and what has not the name of a job is none.
func ParseList(stdout []byte) ([]Listed, error) {
	body, ok := bytes.CutPrefix(stdout, []byte(listHead))
	if !ok {
		return nil, ErrNoShell
	}
	body, ok = bytes.CutSuffix(body, []byte(listEnd))
	if !ok || len(body) > 0 && body[len(body)-1] != '\n' {
		return nil, ErrShort
	}
	var all []Listed
	for line := range strings.Lines(string(body)) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 6)
		var c check
		if c.id("id", words[0]); c.err == nil {
			all = append(all, parseListed(words))
		}
	}
	return all, nil
}

func parseListed(words []string) Listed {
	l := Listed{ID: words[0], State: Lost}
	if len(words) < 5 {
		return l
	}
	// The line is that of a reply but for the sizes and the base.
	r, err := parseHeader([]string{Name, words[1], words[2], "0", "0", words[3], words[4], "-"})
	if err == nil && r.State != Ready {
		l.State, l.Code, l.Started, l.Ended = r.State, r.Code, r.Started, r.Ended
	}
	if len(words) > 5 {
		l.Note = words[5]
	}
	return l
}

// EncodeList returns the list as the runner writes it, for guests that answer in Go.
func EncodeList(all []Listed) []byte {
	out := []byte(listHead)
	for _, l := range all {
		out = fmt.Appendf(out, "%s %s %s %s %s %s\n", l.ID, l.State, l.code(), seconds(l.Started.Truncate(tick)), seconds(l.Ended.Truncate(tick)), l.Note)
	}
	return append(out, listEnd...)
}

func (l *Listed) code() string { return codeWord(l.State, l.Code) }
