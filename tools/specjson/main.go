// Command specjson writes a YAML document as JSON, its keys in the order they have and its aliases resolved.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: specjson IN.yaml OUT.json")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "specjson:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	src, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	var b, indented bytes.Buffer
	if err := write(&b, &doc); err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	if err := json.Indent(&indented, b.Bytes(), "", " "); err != nil {
		return err
	}
	indented.WriteByte('\n')
	return os.WriteFile(out, indented.Bytes(), 0o644)
}

func write(b *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.DocumentNode:
		return write(b, n.Content[0])
	case yaml.AliasNode:
		return write(b, n.Alias)
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, c := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, c); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case yaml.MappingNode:
		return writeMap(b, n)
	default:
		var v any
		if err := n.Decode(&v); err != nil {
			return err
		}
		return writeJSON(b, v)
	}
}

func writeMap(b *bytes.Buffer, n *yaml.Node) error {
	b.WriteByte('{')
	for i := 0; i < len(n.Content); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeJSON(b, n.Content[i].Value); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := write(b, n.Content[i+1]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func writeJSON(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
