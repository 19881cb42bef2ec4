package rest

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/internal/envname"
	"github.com/smol-machines/smol-go/smol"
)

// Invalid says that an argument cannot be used. field is its path, such as "Spec.Ports[1].Guest".
func Invalid(field, format string, args ...any) *smol.Error {
	return &smol.Error{Code: smol.CodeInvalid, Message: field + " " + fmt.Sprintf(format, args...)}
}

// Unsupported says that the fleet does not have what field asks for, and what there is instead.
func Unsupported(fleet, field, what, hint string) *smol.Error {
	return &smol.Error{
		Code: smol.CodeUnsupported, Err: errors.ErrUnsupported,
		Message: field + " is set, and the " + fleet + " fleet has no " + what, Hint: hint,
	}
}

// Describe gives an error of a check the operation and the machine it stopped. Other errors, and nil, pass through.
func Describe(err error, op, machine string) error {
	var e *smol.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Op, c.Machine = op, machine
	return &c
}

// CheckText refuses what JSON or a system call would change on its way.
func CheckText(field, s string) error {
	if strings.Contains(s, "\x00") {
		return Invalid(field, "contains a NUL byte")
	}
	if !utf8.ValidString(s) {
		return Invalid(field, "is not UTF-8, and the service's wire carries nothing else; pass it in a file")
	}
	return nil
}

// CheckEnv refuses a variable that a service would refuse or change.
func CheckEnv(field, name, value string) error {
	if err := envname.Check(name); err != nil {
		return Invalid(field, "has %v", err)
	}
	return CheckText(field, value)
}

// CheckExec refuses a command that no service takes, and returns its environment as pairs of a name and a value.
func CheckExec(req *smol.ExecRequest) (env [][2]string, err error) {
	if len(req.Argv) == 0 || req.Argv[0] == "" {
		return nil, Invalid("ExecRequest.Argv", "names no program")
	}
	if req.Timeout < 0 {
		return nil, Invalid("ExecRequest.Timeout", "is negative")
	}
	for i, arg := range req.Argv {
		if err := CheckText(fmt.Sprintf("ExecRequest.Argv[%d]", i), arg); err != nil {
			return nil, err
		}
	}
	if err := CheckText("ExecRequest.Dir", req.Dir); err != nil {
		return nil, err
	}
	for i, entry := range req.Env {
		field := fmt.Sprintf("ExecRequest.Env[%d]", i)
		name, value, ok := strings.Cut(entry, "=")
		if !ok {
			return nil, Invalid(field, "%q is not NAME=value", entry)
		}
		if err := CheckEnv(field, name, value); err != nil {
			return nil, err
		}
		env = append(env, [2]string{name, value})
	}
	return env, nil
}
