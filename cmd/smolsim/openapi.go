package main

import (
	"context"
	"os"

	"github.com/smol-machines/smol-go/api"
)

// serveOpenAPI prints the document of the API; it starts nothing.
func serveOpenAPI(_ context.Context, p *program, args []string) (int, error) {
	fs := p.flags("serve openapi")
	var out, format string
	fs.StringVar(&out, "o", "", "write to `FILE` instead of stdout")
	fs.StringVar(&out, "output", "", "the same as -o `FILE`")
	fs.StringVar(&format, "f", "json", "`FORMAT`: json or yaml")
	fs.StringVar(&format, "format", "json", "the same as -f `FORMAT`")
	if err := p.parse(fs, args); err != nil {
		return exitUsage, err
	}
	if fs.NArg() > 0 {
		return exitUsage, usagef("unexpected argument '%s' found", fs.Arg(0))
	}
	var doc []byte
	switch format {
	case "json":
		doc = api.LocalJSON
	case "yaml":
		doc = api.Local
	default:
		return exitUsage, usagef("invalid value '%s' for '--format <FORMAT>': possible values are json, yaml", format)
	}
	if out == "" {
		_, err := p.stdout.Write(doc)
		return exitOK, err
	}
	return exitOK, os.WriteFile(out, doc, 0o644)
}
