package mcpserver

import (
	"context"
	"encoding/base64"
	"io"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/smol"
)

// maxPage is the most bytes that one read-file returns.
const maxPage = 8 << 20

type readFileArgs struct {
	fileArgs
	Encoding string `json:"encoding,omitempty"`
	Offset   int64  `json:"offset,omitempty"`
	Length   int64  `json:"length,omitempty"`
}

type fileArgs struct {
	nameArgs
	Path string `json:"path" jsonschema:"absolute"`
}

type readFileResult struct {
	Path           string `json:"path"`
	Content        string `json:"content"`
	Encoding       string `json:"encoding"`
	Size           int64  `json:"size"`
	Offset         int64  `json:"offset"`
	Bytes          int    `json:"bytes"`
	EOF            bool   `json:"eof"`
	StartedMachine bool   `json:"startedMachine"`
}

func readFile(cfg *Config) *definition {
	stopped := "A stopped machine is booted first (startedMachine), and on cloud billed as running."
	if cfg.ReadOnly {
		stopped = "CONFLICT: the machine does not run."
	}
	return define(about{
		name: "read-file", title: "Read file", toolset: "core",
		description: "Read a file of a machine, or a page of it. To find parts by content use run-command with grep. Returns the content and size, that of the whole file. " +
			"offset and length count bytes; eof: false means that more follows from offset + bytes. A utf8 page never splits a character, so bytes may differ from length. " +
			"INVALID: bytes that are not UTF-8 (use encoding base64), or a directory. NOT_FOUND: no such file. " + stopped,
		hints: hints{readOnly: cfg.ReadOnly, idempotent: true},
	}, func(s set) {
		s.text("name", "path").encoding().least("offset", 0).def("length", cfg.MaxOutputBytes).least("length", 1).most("length", maxPage)
	}, runReadFile)
}

// encoding completes the schema of encoding.
func (s set) encoding() set { return s.def("encoding", "utf8").enum("encoding", "utf8", "base64") }

func runReadFile(ctx context.Context, c *call, in readFileArgs) (*readFileResult, error) {
	m := c.machine(in.Name)
	if c.config().ReadOnly { // which boots nothing
		info, err := m.Info(ctx)
		if err != nil {
			return nil, err
		}
		if info.State != smol.StateRunning {
			return nil, fail(CodeConflict, "%s is %s, and this server changes nothing", in.Name, info.State).hint("Boot it with another program.")
		}
	}
	// What is read beyond the page tells whether anything follows, and completes the character at its end.
	data, err := readRange(ctx, m, in.Path, in.Offset, in.Length+utf8.UTFMax)
	if err != nil {
		return nil, err
	}
	page, eof := data, int64(len(data)) <= in.Length
	if !eof {
		page = data[:in.Length]
	}
	res := &readFileResult{Path: in.Path, Encoding: in.Encoding, Offset: in.Offset, EOF: eof}
	if in.Encoding == "base64" {
		res.Content = base64.StdEncoding.EncodeToString(page)
	} else {
		if page = wholeCharacters(data, len(page), eof); !utf8.Valid(page) {
			return nil, fail(CodeInvalid, "%s is not UTF-8 between bytes %d and %d", in.Path, in.Offset, in.Offset+int64(len(page))).hint("Use encoding base64.")
		}
		res.Content = string(page)
	}
	res.Bytes, res.Size = len(page), in.Offset+int64(len(page))
	if !eof || in.Offset > 0 {
		info, err := m.Stat(ctx, in.Path)
		if err != nil {
			return nil, err
		}
		res.Size = max(info.Size(), int64(len(page)))
	}
	res.StartedMachine = m.Booted()
	return res, nil
}

func readRange(ctx context.Context, m *smol.Machine, path string, offset, length int64) ([]byte, error) {
	f, err := m.Open(ctx, path, &smol.OpenOptions{Offset: offset, Length: length})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, length))
}

// wholeCharacters returns the first n bytes of data without the beginning of a character that they cut; a page that would be empty then
// holds that character. At the end of the file there is nothing to wait for.
func wholeCharacters(data []byte, n int, eof bool) []byte {
	if eof {
		return data[:n]
	}
	begin := n
	for begin > 0 && n-begin < utf8.UTFMax && !utf8.RuneStart(data[begin]) {
		begin--
	}
	if begin == n {
		return data[:n]
	}
	r, size := utf8.DecodeRune(data[begin:])
	switch {
	case r == utf8.RuneError && size <= 1:
		return data[:n] // no character at all, which the caller sees
	case begin == 0:
		return data[:size]
	default:
		return data[:begin]
	}
}
