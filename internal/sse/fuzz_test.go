package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sse"
)

// cutter returns its bytes in the pieces that cuts asks for.
type cutter struct {
	data []byte
	cuts []byte
}

func (c *cutter) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := len(c.data)
	if len(c.cuts) > 0 {
		n = min(n, int(c.cuts[0])+1)
		c.cuts = c.cuts[1:]
	}
	n = copy(p, c.data[:n])
	c.data = c.data[n:]
	return n, nil
}

// FuzzSplit wants the same events however the bytes are cut up, the same that a plain reading of the standard gives, and
// valid UTF-8 in each.
func FuzzSplit(f *testing.F) {
	if len(streams) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range streams {
		f.Add([]byte(s.in), []byte{0, 1, 2, 0, 5})
	}
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		opts := &sse.Options{MaxEvent: 1 << 16}
		want, wantErr := read(bytes.NewReader(data), opts)
		got, gotErr := read(&cutter{data: data, cuts: cuts}, opts)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cut up differently (-whole +cut):\n%s", diff)
		}
		if !errors.Is(gotErr, wantErr) {
			t.Errorf("error %v, in one piece %v", gotErr, wantErr)
		}
		if wantErr == nil || errors.Is(wantErr, io.ErrUnexpectedEOF) {
			if diff := cmp.Diff(plain(string(data)), want); diff != "" {
				t.Errorf("not as the standard says (-standard +got):\n%s", diff)
			}
		}
		for _, e := range got {
			if !utf8.ValidString(e.Data) || !utf8.ValidString(e.Type) || !utf8.ValidString(e.ID) {
				t.Errorf("not UTF-8: %q", e)
			}
		}
	})
}

// plain reads a whole stream the slow and obvious way.
func plain(in string) (events []sse.Event) {
	in = strings.TrimPrefix(in, "\ufeff")
	in = strings.ReplaceAll(in, "\r\n", "\n")
	in = strings.ReplaceAll(in, "\r", "\n")
	lines := strings.Split(in, "\n")
	var typ, id string
	var data []string
	for _, line := range lines[:len(lines)-1] {
		name, value, _ := strings.Cut(line, ":")
		value = replaceBad(strings.TrimPrefix(value, " "))
		switch {
		case line == "" && data != nil:
			if typ == "" {
				typ = "message"
			}
			events = append(events, sse.Event{Type: typ, Data: strings.Join(data, "\n"), ID: id})
			fallthrough
		case line == "":
			typ, data = "", nil
		case name == "data":
			data = append(data, value)
		case name == "event":
			typ = value
		case name == "id" && !strings.Contains(value, "\x00"):
			id = value
		}
	}
	return events
}

// replaceBad replaces what is not UTF-8: of all the ways to cut a bad sequence, the one with the longest first part that some
// continuation would make a character.
func replaceBad(s string) string {
	var out strings.Builder
	for s != "" {
		if r, n := utf8.DecodeRuneInString(s); r != utf8.RuneError || n > 1 {
			out.WriteString(s[:n])
			s = s[n:]
			continue
		}
		n := 1
		for k := 3; k > 1; k-- {
			if len(s) >= k && continues(s[:k]) {
				n = k
				break
			}
		}
		out.WriteString("\ufffd")
		s = s[n:]
	}
	return out.String()
}

// continues reports whether s is the beginning of some character.
func continues(s string) bool {
	for c := 0x80; c <= 0xbf; c++ {
		for _, tail := range []string{string([]byte{byte(c)}), string([]byte{byte(c), 0x80})} {
			if r, n := utf8.DecodeRuneInString(s + tail); r != utf8.RuneError && n == len(s)+len(tail) {
				return true
			}
		}
	}
	return false
}
