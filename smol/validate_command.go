package smol

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/envname"
	"github.com/smol-machines/smol-go/internal/guest"
)

// validateArgs checks the arguments of a command.
func validateArgs(field string, args []string) error {
	for i, a := range args {
		if err := validateText(fmt.Sprintf("%s[%d]", field, i), a); err != nil {
			return err
		}
	}
	return nil
}

func validateEnvMap(field string, env map[string]string) error {
	for _, name := range sortedKeys(env) {
		at := fmt.Sprintf("%s[%q]", field, name)
		if err := validateEnvName(at, name); err != nil {
			return err
		}
		if err := validateText(at, env[name]); err != nil {
			return err
		}
	}
	return nil
}

// validateEnvList checks an environment in the form of os/exec.
func validateEnvList(field string, env []string) error {
	for i, entry := range env {
		at := fmt.Sprintf("%s[%d]", field, i)
		name, value, ok := strings.Cut(entry, "=")
		if !ok {
			return invalidf(at, "%q is not NAME=value", entry)
		}
		if err := validateEnvName(at, name); err != nil {
			return err
		}
		if err := validateText(at, value); err != nil {
			return err
		}
	}
	return nil
}

// validateEnvName allows what the services allow, but for the variable by which the processes of a command are found.
func validateEnvName(field, name string) error {
	if err := envname.Check(name); err != nil {
		return invalidf(field, "has %v", err)
	}
	if name == guest.JobMark {
		return invalidf(field, "has the name %q, which the library keeps for itself", name)
	}
	return nil
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
