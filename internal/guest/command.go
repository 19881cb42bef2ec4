package guest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Name is $0 of the runner's scripts.
const Name = "smol1"

// Argv of an exec: sh -c SCRIPT Name ARGS…, where SCRIPT names the operation.
const scriptArg, nameArg, firstArg = 2, 3, 4

func shArgv(script string, args ...string) []string {
	return append([]string{"sh", "-c", script, Name}, args...)
}

// Command returns the argv of the exec, and the files that have to be in the machine before it. An error is a [*FieldError].
func (s *Start) Command() (argv []string, files []File, err error) {
	script := scriptText(s.Argv)
	if err := s.check(script); err != nil {
		return nil, nil, err
	}
	command, file := s.Argv, ""
	if script > 0 {
		name := s.file(".script")
		files = append(files, File{name, []byte(command[script])})
		command = slices.Clone(command)
		command[script] = scriptCommand(name)
	}
	text := envFragment(s.Env) + argvFragment(command)
	if len(text) > MaxArgs {
		file = s.file(".args")
		files = append(files, File{file, []byte(text)})
		text = ""
	}
	args := []string{
		strings.Join(s.Bases, " "), s.ID, seconds(s.Timeout), s.Dir, s.Stdin, strings.Join(s.Ack, " "), file, text,
		strconv.FormatInt(s.Limit, 10), s.Note,
	}
	return shArgv(startScript, append(args, s.View.args()...)...), files, nil
}

func (s *Start) check(script int) error {
	var c check
	c.id("id", s.ID)
	c.bases(s.Bases)
	c.argv(s.Argv, script)
	for _, kv := range s.Env {
		c.env(kv)
	}
	c.path("dir", s.Dir)
	c.path("stdin", s.Stdin)
	if s.Stdin != "" && !path.IsAbs(s.Stdin) {
		c.fail("stdin", "%.80q; it must be an absolute path", s.Stdin)
	}
	c.time("timeout", s.Timeout)
	if s.Limit < 0 || s.Limit > maxBudget {
		c.fail("limit", "%d bytes; it must be from 0 to %d", s.Limit, maxBudget)
	}
	c.text("note", s.Note)
	if len(s.Note) > MaxNote || strings.Contains(s.Note, "\n") {
		c.fail("note", "%d bytes; it is one line of at most %d", len(s.Note), MaxNote)
	}
	if len(s.Ack) > maxAcks {
		c.fail("ack", "%d ids; at most %d go with a start", len(s.Ack), maxAcks)
	}
	for _, id := range s.Ack {
		c.id("ack", id)
	}
	c.view(&s.View)
	return c.err
}

// file is the path of a file that comes before the runner: in the best base, since which can be used is not known yet.
func (s *Start) file(suffix string) string { return s.Bases[0] + "/" + s.ID + suffix }

// scriptCommand is the text for sh -c that runs the text in the file, with $0 and "$@" as they are.
func scriptCommand(file string) string { return ". " + quote(file) }

// scriptText returns the index of the text of a `sh -c TEXT` that is too long for an argument, or 0.
func scriptText(argv []string) int {
	n := 0
	if len(argv) > 0 && path.Base(argv[0]) == "busybox" {
		n++
	}
	if n >= len(argv) || !slices.Contains([]string{"sh", "bash", "dash", "ash"}, path.Base(argv[n])) {
		return 0
	}
	for n++; n+1 < len(argv) && len(argv[n]) > 1 && argv[n][0] == '-' && strings.Trim(argv[n][1:], letters) == ""; n++ {
		if strings.Contains(argv[n], "c") && len(argv[n+1]) > MaxArg {
			return n + 1
		}
	}
	return 0
}

// args are the arguments that say what to wait for and to return.
func (v *View) args() []string {
	return []string{
		seconds(v.Wait), flag(v.News), flag(v.Clip), flag(v.Hush),
		strconv.FormatInt(v.Budget, 10), strconv.FormatInt(v.Stdout, 10), strconv.FormatInt(v.Stderr, 10),
	}
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// tick is the unit of the machine's clock.
const tick = 10 * time.Millisecond

// seconds formats d in seconds with two decimals, rounded up: a little time must not become none.
func seconds(d time.Duration) string {
	n := (d + tick - 1) / tick
	return fmt.Sprintf("%d.%02d", n/100, n%100)
}

// Command returns the argv of the exec. An error is a [*FieldError].
func (p *Poll) Command() ([]string, error) {
	var c check
	c.id("id", p.ID)
	c.bases(p.Bases)
	c.view(&p.View)
	if c.err != nil {
		return nil, c.err
	}
	return shArgv(pollScript, append([]string{strings.Join(p.Bases, " "), p.ID}, p.View.args()...)...), nil
}

// signals are those that a job can be sent, with their numbers on Linux.
var signals = map[string]int{
	"HUP": 1, "INT": 2, "QUIT": 3, "KILL": 9, "USR1": 10, "USR2": 12, "TERM": 15, "CONT": 18, "STOP": 19,
}

// Command returns the argv of the exec. An error is a [*FieldError].
func (s *Signal) Command() ([]string, error) {
	var c check
	c.id("id", s.ID)
	c.bases(s.Bases)
	number := signals[s.Signal]
	if number == 0 {
		c.fail("signal", "%.40q; it must be one of %s", s.Signal, strings.Join(slices.Sorted(maps.Keys(signals)), ", "))
	}
	if c.err != nil {
		return nil, c.err
	}
	return shArgv(signalScript, strings.Join(s.Bases, " "), s.ID, strconv.Itoa(number), flag(s.Known)), nil
}

// Command returns the argv of the exec. An error is a [*FieldError].
func (s *Setup) Command() ([]string, error) {
	var c check
	c.bases(s.Bases)
	c.path("dir", s.Dir)
	env := make([]string, 0, len(s.Env))
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		kv := name + "=" + s.Env[name]
		c.envPair(name, kv)
		env = append(env, kv)
	}
	args := []string{strings.Join(s.Bases, " ")}
	if s.Env != nil || s.Dir != "" {
		text := dirFragment(s.Dir) + envFragment(env)
		if len(text) > maxStored {
			c.fail("env", "%d bytes with quotes; at most %d can be stored in the machine", len(text), maxStored)
		}
		args = append(args, pieces(text, MaxArgs)...)
	}
	if c.err != nil {
		return nil, c.err
	}
	return shArgv(setupScript, args...), nil
}

// pieces cuts text into arguments of at most size bytes and whole characters.
func pieces(text string, size int) (out []string) {
	for len(text) > size {
		n := size
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		out, text = append(out, text[:n]), text[n:]
	}
	return append(out, text)
}
