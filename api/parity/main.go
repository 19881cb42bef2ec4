// Command parity compares a description of this project with one that a service publishes, and tells what each has that the other has not:
// routes, parameters, fields of bodies, statuses, and types that differ. The published one must be JSON.
//
//	go run ./api/parity local openapi.json
//
// A line begins with "ours", "theirs" or "type". Names of schemas and of path parameters do not matter, nor do null, numeric formats and
// the bodies of what only one of them has. It ends with 1 only when a document cannot be read: differences are expected, and
// api/corrections.md lists them.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/smol-machines/smol-go/api"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "parity:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("want two arguments, local or cloud or a file of ours, and the published file, not %d", len(args))
	}
	var ours, theirs []byte
	var err error
	switch args[0] {
	case "local":
		ours = api.LocalJSON
	case "cloud":
		ours = api.CloudJSON
	default:
		if ours, err = os.ReadFile(args[0]); err != nil {
			return err
		}
	}
	if theirs, err = os.ReadFile(args[1]); err != nil {
		return err
	}
	a, err := read(ours)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	b, err := read(theirs)
	if err != nil {
		return fmt.Errorf("%s: %w", args[1], err)
	}
	_, err = io.WriteString(out, compare(a, b))
	return err
}
