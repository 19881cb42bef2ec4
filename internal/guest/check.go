package guest

import (
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/internal/envname"
)

// FieldError says which part of a request cannot be sent, and why. It wraps [ErrNotText] where that is the reason.
type FieldError struct {
	// Field names the part: "argument 2" (the program is argument 0), "env FOO", "dir", "id".
	Field string
	// Err is the reason.
	Err error
}

// Error returns the part and the reason.
func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *FieldError) Unwrap() error { return e.Err }

func fieldError(field, format string, args ...any) error {
	return &FieldError{field, fmt.Errorf(format, args...)}
}

// Limits of what a request may hold, beside [MaxArg].
const (
	maxID    = 128
	maxPath  = 4095
	maxBases = 8
	maxAcks  = 64
	// maxStored bounds what Setup can carry, since it travels in arguments.
	maxStored = 512 << 10
	// maxBudget keeps the arithmetic of every shell exact.
	maxBudget = 1 << 30
	// maxTime is some three years: hundredths of a second that every shell can add up.
	maxTime = 100_000_000 * time.Second
)

// check collects the first thing that is wrong with a request.
type check struct{ err error }

func (c *check) fail(field, format string, args ...any) {
	if c.err == nil {
		c.err = fieldError(field, format, args...)
	}
}

func (c *check) id(field, id string) {
	switch {
	case id == "":
		c.fail(field, "empty; an id is 1 to %d letters, digits, '-' and '_'", maxID)
	case len(id) > maxID:
		c.fail(field, "%d bytes; an id has at most %d", len(id), maxID)
	case strings.Trim(id, idBytes) != "":
		c.fail(field, "%.40q; an id has only letters, digits, '-' and '_'", id)
	}
}

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits  = "0123456789"
	idBytes = letters + digits + "-_"
)

// bases allows only what the scripts need not quote.
func (c *check) bases(bases []string) {
	if len(bases) == 0 || len(bases) > maxBases {
		c.fail("bases", "%d directories; there must be 1 to %d", len(bases), maxBases)
	}
	for _, b := range bases {
		if len(b) > 1024 || !path.IsAbs(b) || path.Clean(b) != b || b == "/" || strings.Trim(b, idBytes+"./") != "" {
			c.fail("bases", "%.80q; a base is an absolute path of letters, digits, '-', '_' and '.'", b)
		}
	}
}

// text checks that every wire can carry s, and Linux take it as an argument.
func (c *check) text(field, s string) {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		c.fail(field, "%w", ErrNotText)
	}
}

func (c *check) arg(field, s string) {
	c.text(field, s)
	if len(s) > MaxArg {
		c.fail(field, "%d bytes; a Linux argument is at most %d: put it into a file", len(s), MaxArg)
	}
}

func (c *check) path(field, s string) {
	c.text(field, s)
	if len(s) > maxPath {
		c.fail(field, "%d bytes; a path has at most %d", len(s), maxPath)
	}
}

// argv does not check sh -c's long text, which travels as a file.
func (c *check) argv(argv []string, script int) {
	switch {
	case len(argv) == 0:
		c.fail("argv", "empty; it names the program first")
	case argv[0] == "":
		c.fail("argument 0", "empty; it names the program")
	}
	for n, a := range argv {
		field := fmt.Sprintf("argument %d", n)
		if n == script {
			c.text(field, a)
			continue
		}
		c.arg(field, a)
	}
}

func (c *check) env(kv string) {
	name, _, ok := strings.Cut(kv, "=")
	if !ok {
		c.fail("env", "%.80q; an entry is NAME=value", kv)
		return
	}
	c.envPair(name, kv)
}

func (c *check) envPair(name, kv string) {
	if err := checkEnvName(name); err != nil {
		c.fail("env", "%w", err)
		return
	}
	c.arg("env "+name, kv)
}

func checkEnvName(name string) error {
	if name == JobMark {
		return fmt.Errorf("%s is how the runner knows the processes of a command", JobMark)
	}
	return envname.Check(name)
}

// JobMark is the variable by which everything that a job started is found. It holds the job's id.
const JobMark = "SMOL_JOB"

func (c *check) time(field string, d time.Duration) {
	if d < 0 || d > maxTime {
		c.fail(field, "%v; it must be from 0 to %v", d, maxTime)
	}
}

func (c *check) view(v *View) {
	c.time("wait", v.Wait)
	if v.Stdout < 0 || v.Stderr < 0 {
		c.fail("offset", "negative")
	}
	if v.Budget < 0 || v.Budget > maxBudget {
		c.fail("budget", "%d bytes; it must be from 0 to %d", v.Budget, maxBudget)
	}
}
