package smol

import (
	"bytes"
	"regexp"
)

var (
	// ansi is a sequence for a terminal: control sequences, commands that end with BEL or ST, and those of two or three characters.
	ansi = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\\\)|[ -/]*[0-OQ-WYZ\\\\`-~])")
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
	var cut, held int
	e.Head, cut = stripPart(e.Head)
	rest := len(ansiRest.Find(e.Tail))
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
	if i := bytes.LastIndexByte(b, 0x1b); len(b)-i <= ansiMost && !ansi.Match(b[i:]) {
		held = len(b) - i
	}
	return ansi.ReplaceAll(b[:len(b)-held], nil), held
}
