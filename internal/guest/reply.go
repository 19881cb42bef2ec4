package guest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The first line of a reply is
//
//	smol1 STATE CODE STDOUT-SIZE STDERR-SIZE STARTED ENDED BASE
//
// with "-" for what there is not, or "smol1 error WORD", after which the base may follow. The bytes that the sizes and the view announce follow.
const replyFields = 8

// faults are the words after "smol1 error".
var faults = map[string]error{
	"nojob": ErrNoJob, "nobase": ErrNoBase, "ended": ErrEnded, "busy": ErrBusy, "pattern": ErrPattern, "notool": ErrNoTool,
	"stuck": ErrStuck,
}

// ParseReply reads what the runner wrote to the standard output of an exec whose request had that view; a [Signal] and a [Setup] have
// the zero view. It returns [ErrNoShell] if that is not the runner's reply, [ErrShort], or what the runner refuses with, such as [ErrNoJob].
func ParseReply(stdout []byte, v View) (*Reply, error) {
	line, body, ok := bytes.Cut(stdout, []byte("\n"))
	words := strings.Split(string(line), " ")
	if !ok || words[0] != Name {
		return nil, ErrNoShell
	}
	if err := refusal(words[1:]); err != nil {
		return nil, err
	}
	r, err := parseHeader(words)
	if err != nil {
		return nil, fmt.Errorf("%w: reply %.100q: %w", ErrNoShell, line, err)
	}
	if err := r.frame(body, &v); err != nil {
		return nil, err
	}
	return r, nil
}

// refusal is the error that the words of a reply tell, or nil.
func refusal(words []string) error {
	if len(words) < 2 || len(words) > 3 || words[0] != "error" {
		return nil
	}
	err := faults[words[1]]
	if err != nil && len(words) == 3 {
		err = fmt.Errorf("%w: %s", err, words[2])
	}
	return err
}

// parseHeader reads the first line. An end that makes no sense is none: the job is lost.
func parseHeader(words []string) (*Reply, error) {
	if len(words) != replyFields {
		return nil, fmt.Errorf("%d fields", len(words))
	}
	r := &Reply{State: State(words[1]), Base: words[7]}
	var errs [3]error
	r.StdoutSize, errs[0] = parseSize(words[3])
	r.StderrSize, errs[1] = parseSize(words[4])
	switch r.State {
	case Running, Lost, Ready:
		errs[2] = r.times(words)
	case Exited, TimedOut, Signaled:
		code, err := strconv.ParseUint(words[2], 10, 16)
		if r.Code = int(code); err != nil || r.times(words) != nil {
			r.State, r.Code, r.Started, r.Ended = Lost, 0, 0, 0
		}
	default:
		return nil, fmt.Errorf("unknown state %q", words[1])
	}
	return r, errors.Join(errs[:]...)
}

func (r *Reply) times(words []string) (err error) {
	if r.Started, err = parseTime(words[5]); err == nil {
		r.Ended, err = parseTime(words[6])
	}
	return err
}

func parseSize(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err
}

// parseTime reads a time, or "-" for one that is not known.
func parseTime(s string) (time.Duration, error) {
	if s == "-" {
		return 0, nil
	}
	d, ok := parseSeconds(s)
	if !ok {
		return 0, fmt.Errorf("%q is not a time", s)
	}
	return d, nil
}

// frame cuts the body into the two parts.
func (r *Reply) frame(body []byte, v *View) error {
	shown := v.Of(r.State)
	for _, s := range []struct {
		part   *Part
		offset int64
		size   int64
	}{{&r.Stdout, v.Stdout, r.StdoutSize}, {&r.Stderr, v.Stderr, r.StderrSize}} {
		n, head, dropped := shown.cut(s.offset, s.size)
		*s.part = Part{Offset: s.offset, Head: int(head), Dropped: dropped}
		if n > int64(len(body)) {
			return ErrShort
		}
		s.part.Data, body = body[:n:n], body[n:]
	}
	return nil
}

// Of returns what the view shows of a job in that state.
func (v View) Of(s State) View {
	if v.Hush && s == Running {
		v.Budget, v.Clip = 0, false
	}
	return v
}

// cut says how many bytes of a stream of that size are returned from the offset on, and how many are left out after how many.
func (v *View) cut(offset, size int64) (n, head, dropped int64) {
	n = size - offset
	switch {
	case n <= 0:
		return 0, 0, 0
	case n <= v.Budget:
		return n, 0, 0
	case v.Clip:
		return v.Budget, v.Budget * 2 / 3, n - v.Budget
	}
	return v.Budget, 0, 0
}

// Cut sets the sizes and parts of r from the whole streams as the view asks, for guests that answer in Go.
func (r *Reply) Cut(stdout, stderr []byte, v View) {
	shown := v.Of(r.State)
	r.StdoutSize, r.Stdout = int64(len(stdout)), shown.part(v.Stdout, stdout)
	r.StderrSize, r.Stderr = int64(len(stderr)), shown.part(v.Stderr, stderr)
}

func (v *View) part(offset int64, whole []byte) Part {
	n, head, dropped := v.cut(offset, int64(len(whole)))
	p := Part{Offset: offset, Head: int(head), Dropped: dropped}
	if dropped == 0 {
		p.Data = whole[min(offset, int64(len(whole))):][:n]
		return p
	}
	p.Data = append(p.Data, whole[offset:offset+head]...)
	p.Data = append(p.Data, whole[int64(len(whole))-(n-head):]...)
	return p
}

// Encode returns the reply as the runner writes it, for guests that answer in Go. Times are cut to hundredths of a second.
func (r *Reply) Encode() []byte {
	out := fmt.Appendf(nil, "%s %s %s %d %d %s %s %s\n", Name, r.State, codeWord(r.State, r.Code), r.StdoutSize, r.StderrSize,
		seconds(r.Started.Truncate(tick)), seconds(r.Ended.Truncate(tick)), r.Base)
	return append(append(out, r.Stdout.Data...), r.Stderr.Data...)
}

// codeWord is an exit code, or "-" in a state that has none.
func codeWord(s State, code int) string {
	if s == Exited || s == TimedOut || s == Signaled {
		return strconv.Itoa(code)
	}
	return "-"
}

// EncodeError returns what the runner writes for what it refuses with, such as [ErrNoJob], or for an error that wraps one of them, for
// guests that answer in Go; nil for any other error.
func EncodeError(err error) []byte {
	for word, fault := range faults {
		if errors.Is(err, fault) {
			return []byte(Name + " error " + word + "\n")
		}
	}
	return nil
}
