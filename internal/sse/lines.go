package sse

import (
	"bytes"
	"io"
)

// chunk is how much is read at once.
const chunk = 32 << 10

// maxIdleReads is how often in a row a reader may return nothing, as in package bufio.
const maxIdleReads = 100

// bom is the byte order mark in UTF-8, which is not part of the first line.
var bom = []byte("\xef\xbb\xbf")

// lineReader cuts a stream into lines that end in CR, LF or CRLF.
type lineReader struct {
	r       io.Reader
	buf     []byte // what was read and not yet returned is buf[start:end]
	start   int
	end     int
	scanned int  // buf[start:start+scanned] holds no line end
	afterCR bool // the last line ended in CR: an LF that follows belongs to it
	begun   bool // the first bytes have been looked at for a byte order mark
	err     error
}

// next returns the next line without its end; it is valid until the next call. A line longer than limit is ErrTooLong, and an
// unfinished line at the end of the stream is io.ErrUnexpectedEOF.
func (l *lineReader) next(limit int) ([]byte, error) {
	for {
		if line, ok := l.take(); ok {
			if len(line) > limit {
				return nil, ErrTooLong
			}
			return line, nil
		}
		if l.end-l.start > limit+len(bom) {
			return nil, ErrTooLong
		}
		if l.err != nil {
			if l.err == io.EOF && l.end > l.start {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, l.err
		}
		l.fill()
	}
}

// take returns the next line if all of it has been read.
func (l *lineReader) take() ([]byte, bool) {
	if l.afterCR && l.start < l.end {
		if l.buf[l.start] == '\n' {
			l.start++
		}
		l.afterCR = false
	}
	if !l.begun && !l.begin() {
		return nil, false
	}
	rest := l.buf[l.start:l.end]
	i := bytes.IndexAny(rest[l.scanned:], "\r\n")
	if i < 0 {
		l.scanned = len(rest)
		return nil, false
	}
	i += l.scanned
	l.afterCR = rest[i] == '\r'
	l.start += i + 1
	l.scanned = 0
	return rest[:i], true
}

// begin drops a byte order mark; it reports false while it cannot tell yet whether there is one.
func (l *lineReader) begin() bool {
	head := l.buf[l.start:l.end]
	if len(head) < len(bom) && bytes.HasPrefix(bom, head) && l.err == nil {
		return false
	}
	if bytes.HasPrefix(head, bom) {
		l.start += len(bom)
	}
	l.begun = true
	return true
}

// fill reads once. Room is made by moving what is left to the front, then by doubling, so that a long line is not copied for
// every chunk of it.
func (l *lineReader) fill() {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.start = 0
	}
	if l.end == len(l.buf) {
		grown := make([]byte, max(chunk, 2*len(l.buf)))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	for range maxIdleReads {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}
