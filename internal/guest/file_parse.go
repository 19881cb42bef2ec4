package guest

import (
	"encoding/base64"
	"path"
	"strconv"
)

// ParseFile reads the argv of an exec that works on files back, for guests that answer in Go. It reports false for every other
// argv. The request is one of the pointer types that implement [FileRequest].
func ParseFile(argv []string) (FileRequest, bool) {
	const args = 5
	if len(argv) < args || path.Base(argv[0]) != "sh" || argv[1] != "-c" || argv[2] != fileScript || argv[3] != FileName {
		return nil, false
	}
	p := &fileParser{rest: argv[args:]}
	r := p.request(argv[4])
	return r, r != nil && !p.bad && len(p.rest) == 0
}

// fileParser takes arguments off one by one; after the first wrong one everything is wrong.
type fileParser struct {
	rest []string
	bad  bool
}

func (p *fileParser) request(op string) FileRequest {
	switch op {
	case "base":
		bases := p.rest
		p.rest = nil
		return &FileBase{Bases: bases}
	case "join":
		return &FileJoin{Pieces: p.pieces()}
	case "append":
		return &FileAppend{Stage: p.next(), Data: p.base64()}
	case "commit":
		return &FileCommit{Path: p.next(), Mode: p.octal(), Pieces: p.pieces()}
	case "drop":
		return &FileDrop{Prefix: p.next(), Late: p.flag("late")}
	case "cut":
		return &FileCut{
			Path: p.next(), Offset: p.decimal(), Length: p.decimal(), Inline: p.decimal(), Stage: p.next(), Window: p.decimal(),
		}
	case "stat":
		return &FileStat{Path: p.next(), Follow: p.flag("follow")}
	case "list":
		return &FileList{Dir: p.next(), Stage: p.next()}
	case "mkdir":
		return p.mkdir()
	case "remove":
		return &FileRemove{Path: p.next(), All: p.flag("all")}
	case "tar":
		return &FileTar{Dir: p.next(), Stage: p.next()}
	case "untar":
		return &FileUntar{Dir: p.next(), Pieces: p.pieces()}
	}
	return nil
}

func (p *fileParser) mkdir() FileRequest {
	r := &FileMkdir{Path: p.next()}
	special, mask := p.octal(), p.octal()
	if r.Mode = special; special < 0 {
		r.Mode = 0o777 &^ mask
	}
	return r
}

func (p *fileParser) next() string {
	if len(p.rest) == 0 {
		p.bad = true
		return ""
	}
	s := p.rest[0]
	p.rest = p.rest[1:]
	return s
}

func (p *fileParser) decimal() int64 {
	n, err := strconv.ParseInt(p.next(), 10, 64)
	p.bad = p.bad || err != nil
	return n
}

// octal reads a mode; "-", which stands for none, is -1.
func (p *fileParser) octal() int {
	s := p.next()
	if s == "-" {
		return -1
	}
	n, err := strconv.ParseUint(s, 8, 12)
	p.bad = p.bad || err != nil
	return int(n)
}

func (p *fileParser) flag(word string) bool {
	s := p.next()
	p.bad = p.bad || s != word && s != "-"
	return s == word
}

func (p *fileParser) base64() []byte {
	b, err := base64.StdEncoding.DecodeString(p.next())
	p.bad = p.bad || err != nil
	return b
}

func (p *fileParser) pieces() []FilePiece {
	var pieces []FilePiece
	for len(p.rest) > 0 && !p.bad {
		pieces = append(pieces, FilePiece{Path: p.next(), Size: p.decimal()})
	}
	p.bad = p.bad || len(pieces) == 0
	return pieces
}
