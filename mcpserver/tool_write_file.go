package mcpserver

import (
	"context"
	"encoding/base64"
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
		description: "Write a file in a machine, replacing one that is there: what was there stays whole until the new content is complete, and its mode and owner are kept. Missing directories are made. " +
			"A new file belongs to root with mode 0644; run-command with chmod changes that, and with sed a part of a file. Use encoding base64 for bytes that are not text. A stopped machine is booted first. Returns the size written.",
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
