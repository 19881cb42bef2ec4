package mcpserver

import (
	"context"
	"encoding/base64"
	"strconv"
)

type writeFileArgs struct {
	fileArgs
	Content  string `json:"content"`
	Encoding string `json:"encoding,omitempty"`
}

type writeFileResult struct {
	Path           string `json:"path"`
	Size           int    `json:"size"`
	StartedMachine bool   `json:"startedMachine"`
}

func writeFile(*Config) *definition {
	return define(about{
		name: "write-file", title: "Write file", toolset: "core",
		description: "Write a file in a machine, replacing one that is there: the old one stays whole until the new is complete, and mode and owner are kept; a link is followed. Missing directories are made. " +
			"A new file belongs to root with mode 0644. To change a mode, or a part of a file, use run-command with chmod or sed. For bytes that are not text use base64. A call has at most " + strconv.Itoa(maxLine>>20) + " MiB as sent, base64 included. A stopped machine is booted first (startedMachine), and on cloud billed as running. Returns the size in bytes.",
		hints: hints{destructive: true, idempotent: true},
	}, func(s set) {
		s.text("name", "path").encoding()
	}, func(ctx context.Context, c *call, in writeFileArgs) (*writeFileResult, error) {
		data := []byte(in.Content)
		if in.Encoding == "base64" {
			var err error
			if data, err = base64.StdEncoding.DecodeString(in.Content); err != nil {
				return nil, fail(CodeInvalid, "argument content is not base64: %v", err)
			}
		}
		m := c.machine(in.Name)
		if err := m.WriteFile(ctx, in.Path, data, nil); err != nil {
			return nil, err
		}
		return &writeFileResult{Path: in.Path, Size: len(data), StartedMachine: m.Booted()}, nil
	})
}
