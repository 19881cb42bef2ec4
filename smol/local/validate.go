package local

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/smol"
)

const (
	maxName    = 128
	maxEnvName = 256
)

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*$`)
	envPattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func invalid(field, format string, args ...any) error {
	return &smol.Error{Code: smol.CodeInvalid, Message: field + " " + fmt.Sprintf(format, args...)}
}

// unsupported says that this fleet does not have what field asks for, and what there is instead.
func unsupported(field, what, hint string) error {
	return &smol.Error{
		Code: smol.CodeUnsupported, Err: errors.ErrUnsupported,
		Message: field + " is set, and the local fleet has no " + what, Hint: hint,
	}
}

// describe gives an error of a check the operation and the machine it stopped.
func describe(err error, op, machine string) error {
	var e *smol.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Op, c.Machine = op, machine
	return &c
}

// checkName holds the service's rule for names, which also makes them safe in a path.
func checkName(field, name string) error {
	switch {
	case name == "":
		return invalid(field, "is empty")
	case len(name) > maxName:
		return invalid(field, "has %d bytes; at most %d are allowed", len(name), maxName)
	case !namePattern.MatchString(name):
		return invalid(field, "%q is none: allowed are letters, digits, '_' and single '-', starting with a letter or digit, not ending in '-'", name)
	}
	return nil
}

// checkText refuses what JSON or a system call would change on its way.
func checkText(field, s string) error {
	if strings.Contains(s, "\x00") {
		return invalid(field, "contains a NUL byte")
	}
	if !utf8.ValidString(s) {
		return invalid(field, "is not UTF-8, and the service's wire carries nothing else; pass it in a file")
	}
	return nil
}

func checkEnv(field, name, value string) error {
	if len(name) > maxEnvName || !envPattern.MatchString(name) {
		return invalid(field, "has the name %.300q: allowed are up to %d letters, digits and '_', not starting with a digit", name, maxEnvName)
	}
	return checkText(field, value)
}
