package guest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
)

// FileRecord is what the machine says about a file.
type FileRecord struct {
	// Name is any bytes but NUL; in a listing without "/".
	Name string
	// Mode is st_mode as Linux has it, with the type of the file.
	Mode     uint32
	UID, GID int
	Size     int64
	ModTime  time.Time
	// Link is where a symbolic link leads; empty for other files.
	Link string
}

const (
	fileTypeMask = 0o170000
	fileTypeLink = 0o120000
)

// IsLink reports whether the record is that of a symbolic link.
func (r *FileRecord) IsLink() bool { return r.Mode&fileTypeMask == fileTypeLink }

// The end of a listing that is whole.
const fileEnd = "end\n"

// Longest parts of a record: a path is at most 4096 bytes, and eight numbers come before it.
const (
	fileMaxHead = 256
	fileMaxPath = 4096
)

// AppendFileRecord appends the record in the form that the script writes. The size of a link must be the length of its target.
func AppendFileRecord(b []byte, r *FileRecord) []byte {
	t := r.ModTime.UTC()
	b = fmt.Appendf(b, "%x %d %d %d %d %s/%s/%s", r.Mode, r.UID, r.GID, r.Size, t.Unix(), t.Format("2006-01-02 15:04:05.000000000 -0700"),
		r.Name, r.Name)
	if r.IsLink() {
		b = append(b, " -> "+r.Link...)
	}
	return append(b, '\n')
}

// AppendFileEnd appends what shows that a listing is whole.
func AppendFileEnd(b []byte) []byte { return append(b, fileEnd...) }

// ParseFileRecord reads the body of the reply to a [FileStat] of path.
func ParseFileRecord(body []byte, path string) (*FileRecord, error) {
	br := newFileReader(bytes.NewReader(body))
	r, err := readFileHead(br)
	if err != nil {
		return nil, err
	}
	r.Name = path
	if p, _ := br.Peek(len(path) + 1); string(p) != path+"/" {
		return nil, errors.New("record is not that of the path")
	}
	if _, err := br.Discard(len(path) + 1); err != nil {
		return nil, err
	}
	return r, readFileTarget(br, r)
}

// ReadFileRecords yields the records of a listing. One that is cut short ends with an error matching io.ErrUnexpectedEOF.
func ReadFileRecords(r io.Reader) iter.Seq2[*FileRecord, error] {
	return func(yield func(*FileRecord, error) bool) {
		br := newFileReader(r)
		for {
			rec, err := readFileRecord(br)
			if err == io.EOF {
				return
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// newFileReader returns a reader that can look ahead over the longest name and target.
func newFileReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 4*fileMaxPath) }

// readFileRecord returns io.EOF after the end of a listing that is whole.
func readFileRecord(br *bufio.Reader) (*FileRecord, error) {
	if p, err := br.Peek(len(fileEnd) + 1); string(p) == fileEnd {
		if err != io.EOF { // not the end of the stream but of what can be read of it
			return nil, err
		}
		return nil, io.EOF
	}
	r, err := readFileHead(br)
	if err != nil {
		return nil, err
	}
	if r.Name, err = readFilePart(br, '/', fileMaxPath); err != nil {
		return nil, err
	}
	return r, readFileTarget(br, r)
}

// readFileHead reads the numbers up to the first slash.
func readFileHead(br *bufio.Reader) (*FileRecord, error) {
	head, err := readFilePart(br, '/', fileMaxHead)
	if err != nil {
		return nil, err
	}
	f := strings.Fields(head)
	if len(f) < 7 {
		return nil, fmt.Errorf("record has %d numbers: %q", len(f), head)
	}
	mode, err := strconv.ParseUint(f[0], 16, 32)
	if err != nil {
		return nil, fmt.Errorf("record has a mode that is none: %w", err)
	}
	var n [4]int64
	for i := range n {
		if n[i], err = strconv.ParseInt(f[1+i], 10, 64); err != nil {
			return nil, fmt.Errorf("record has a number that is none: %w", err)
		}
	}
	return &FileRecord{
		Mode: uint32(mode), UID: int(n[0]), GID: int(n[1]), Size: n[2], ModTime: time.Unix(n[3], fileNanoseconds(f[6])),
	}, nil
}

// fileNanoseconds reads the fraction of a time of day; a stat without fractions of a second has none.
func fileNanoseconds(clock string) int64 {
	_, frac, _ := strings.Cut(clock, ".")
	if len(frac) != 9 {
		return 0
	}
	n, err := strconv.ParseUint(frac, 10, 32)
	if err != nil {
		return 0
	}
	return int64(n)
}

// readFileTarget reads the rest of a record: the name once more, the target of a link, the end of the line. GNU stat writes both as they are,
// that of busybox between quotes, and neither escapes anything; the target's length is the size of the link.
func readFileTarget(br *bufio.Reader, r *FileRecord) error {
	quote := 0
	switch p, _ := br.Peek(len(r.Name) + 2); {
	case bytes.HasPrefix(p, []byte(r.Name+"\n")), bytes.HasPrefix(p, []byte(r.Name+" ")):
	case bytes.HasPrefix(p, []byte("'"+r.Name+"'")):
		quote = 1
	default:
		return readFileEscaped(br, r)
	}
	if _, err := br.Discard(len(r.Name) + 2*quote); err != nil {
		return err
	}
	if !r.IsLink() {
		_, err := readFilePart(br, '\n', 0)
		return err
	}
	arrow := len(" -> ") + quote
	if p, _ := br.Peek(arrow + int(min(r.Size, fileMaxPath)) + quote + 1); r.Size > 0 && r.Size <= fileMaxPath &&
		len(p) == arrow+int(r.Size)+quote+1 && p[len(p)-1] == '\n' {
		r.Link = string(p[arrow : arrow+int(r.Size)])
		_, err := br.Discard(len(p))
		return err
	}
	// The links of /proc have no size.
	rest, err := readFilePart(br, '\n', 2*fileMaxPath)
	if err != nil || len(rest) < arrow+quote {
		return orUnexpectedEOF(err)
	}
	r.Link = rest[arrow : len(rest)-quote]
	return nil
}

// readFileEscaped reads what an old stat writes, which escapes odd names and never writes a line end within one.
func readFileEscaped(br *bufio.Reader, r *FileRecord) error {
	rest, err := readFilePart(br, '\n', 4*fileMaxPath-1)
	if err != nil || !r.IsLink() {
		return err
	}
	_, target, _ := strings.Cut(rest, " -> ")
	r.Link = strings.Trim(target, "'")
	return nil
}

// readFilePart reads a part of at most limit bytes and the byte that ends it, which is not returned.
func readFilePart(br *bufio.Reader, end byte, limit int) (string, error) {
	b, err := br.ReadSlice(end)
	switch {
	case err == bufio.ErrBufferFull || err == nil && len(b)-1 > limit:
		return "", errors.New("record has a part that is too long")
	case err != nil:
		return "", orUnexpectedEOF(err)
	}
	return string(b[:len(b)-1]), nil
}

// orUnexpectedEOF turns the end of the stream, and no error at all, into io.ErrUnexpectedEOF.
func orUnexpectedEOF(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
