package smol

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

const (
	// defaultBudget is [Budget.Bytes] if that is zero.
	defaultBudget = 64 << 10
	// maxBudget is the most bytes of a stream that a reply brings: a service sends them in base64 and once more as text.
	maxBudget = 2 << 20
)

// Budget says how much of a long output is wanted: the first two thirds of it and the last third. The cut is made in the machine, so what is
// dropped does not cross the wire. The zero value is 64 KiB of each stream, as it is.
type Budget struct {
	// Bytes is the most bytes of a stream, up to 2 MiB. Zero: 64 KiB.
	Bytes int
	// StripANSI removes the sequences by which programs color a terminal and move its cursor. Offsets and sizes still count them.
	StripANSI bool
}

func (b Budget) bytes() int {
	if b.Bytes == 0 {
		return defaultBudget
	}
	return b.Bytes
}

func (b Budget) validate(field string) error {
	if b.Bytes < 0 || b.Bytes > maxBudget {
		return invalidf(field+".Bytes", "is %d; allowed is 1 to %d, or 0 for %d", b.Bytes, maxBudget, defaultBudget)
	}
	return nil
}

// Excerpt is what a [Budget] leaves of a stream.
type Excerpt struct {
	// Head is the output from Offset on. When some is dropped it is the first part, and Tail the last; else Tail is empty.
	Head, Tail []byte
	// Dropped is how many bytes are missing between Head and Tail.
	Dropped int64
	// Offset is where Head begins in the stream, in bytes, and Next what follows the excerpt. Neither cuts a character of UTF-8.
	Offset, Next int64
	// Size is how long the whole stream is, in bytes.
	Size int64
	// Path is the file in the machine that holds the whole stream. Empty if there is none.
	Path string
}

// Clip returns what the budget leaves of data.
func (b Budget) Clip(data []byte) *Excerpt {
	size := int64(len(data))
	e := &Excerpt{Head: data, Next: size, Size: size}
	if limit := b.bytes(); len(data) > limit {
		head := limit * 2 / 3
		e.Head, e.Tail = data[:head], data[len(data)-(limit-head):]
		e.Dropped = size - int64(limit)
	}
	e.trim(true)
	if b.StripANSI {
		e.strip(true)
	}
	return e
}

// String returns the excerpt as text, with a line between Head and Tail that says how much is missing.
func (e *Excerpt) String() string {
	if e.Dropped == 0 {
		return string(e.Head) + string(e.Tail)
	}
	note := fmt.Sprintf("... %d bytes left out ...\n", e.Dropped)
	if !bytes.HasSuffix(e.Head, []byte("\n")) {
		note = "\n" + note
	}
	return string(e.Head) + note + string(e.Tail)
}

// trim cuts the excerpt on characters. The bytes of one that is not whole yet are for the next excerpt, unless there will be none.
func (e *Excerpt) trim(last bool) {
	end := &e.Head
	if e.Dropped > 0 {
		n := incomplete(e.Head)
		e.Head = e.Head[:len(e.Head)-n]
		m := 0
		for m < min(len(e.Tail), utf8.UTFMax-1) && !utf8.RuneStart(e.Tail[m]) {
			m++
		}
		e.Tail = e.Tail[m:]
		e.Dropped += int64(n + m)
		end = &e.Tail
	}
	if !last {
		n := incomplete(*end)
		*end = (*end)[:len(*end)-n]
		e.Next -= int64(n)
	}
}

// incomplete is how many bytes at the end of b begin a character that is not whole.
func incomplete(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		c := b[len(b)-n]
		if !utf8.RuneStart(c) {
			continue
		}
		if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
			return n
		}
		return 0
	}
	return 0
}
