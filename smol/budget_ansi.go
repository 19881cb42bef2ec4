package smol

import (
	"bytes"
	"regexp"
)

var (
	// ansi is a sequence for a terminal: control sequences, commands that end with BEL or ST, and those of two or three characters.
	ansi = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\\\)|[ -/]*[0-OQ-WYZ\\\\`-~])")
	// ansiBegin is what such a sequence begins with, at the end.
	ansiBegin = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*|[\\]P^_X][^\x07\x1b]*\x1b?|[ -/]*)$")
	// ansiRest is what is left of a control sequence whose beginning was cut off.
	ansiRest = regexp.MustCompile(`^(?:\[[0-9;?]*[@-~]|[0-9;]+m|m)`)
)

// ansiMost is how long the beginning of a sequence at the end of an excerpt can be for it to be kept for the next one.
const ansiMost = 128

// strip removes sequences for terminals. The beginning of one at the end is for the next excerpt, unless there will be none.
func (e *Excerpt) strip(last bool) {
	if e.Dropped == 0 {
		var held int
		e.Head, held = stripPart(e.Head)
		if !last {
			e.Next -= int64(held)
		}
		return
	}
	var cut, held, rest int
	if bytes.IndexByte(e.Head, 0x1b) >= 0 || bytes.IndexByte(e.Tail, 0x1b) >= 0 { // else what looks like a rest is text
		rest = len(ansiRest.Find(e.Tail))
	}
	e.Head, cut = stripPart(e.Head)
	e.Tail, held = stripPart(e.Tail[rest:])
	e.Dropped += int64(cut + rest)
	if !last {
		e.Next -= int64(held)
	}
}

// stripPart returns b without sequences, and how many bytes at its end began one.
func stripPart(b []byte) (clean []byte, held int) {
	if !bytes.Contains(b, []byte{0x1b}) {
		return b, 0
	}
	last := b[max(0, len(b)-ansiMost):]
	if at := ansiBegin.FindIndex(last); at != nil {
		held = len(last) - at[0]
	}
	return ansi.ReplaceAll(b[:len(b)-held], nil), held
}
