package guest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FileStatus is how an operation on files ended.
type FileStatus string

// The statuses. All but the first four are failures.
const (
	FileOK FileStatus = "ok"
	// FileStaged: the range lies in the stage.
	FileStaged FileStatus = "staged"
	// FileBig: the range is too long for the reply, and there was no stage.
	FileBig FileStatus = "big"
	// FilePlain: the path to pack is a file and no tree.
	FilePlain FileStatus = "file"

	// FileMissing: there is no such file.
	FileMissing FileStatus = "noent"
	// FileIsDir: the path is a directory. FileNotDir: it, or what should be a parent of it, is none.
	FileIsDir  FileStatus = "isdir"
	FileNotDir FileStatus = "notdir"
	// FileSpecial: neither a regular file nor a directory.
	FileSpecial FileStatus = "special"
	// FileDenied: the user that commands run as may not do that.
	FileDenied FileStatus = "perm"
	// FileNotEmpty: the directory has entries.
	FileNotEmpty FileStatus = "notempty"
	// FileLoop: the symbolic link leads nowhere.
	FileLoop FileStatus = "loop"
	// FileWrongSize: the stages do not have the sizes they must have. The fields are the sizes found.
	FileWrongSize FileStatus = "size"
	// FileNoTool: the program that the field names is missing in the machine.
	FileNoTool FileStatus = "notool"
	// FileNoBase: none of the bases can be written.
	FileNoBase FileStatus = "nobase"
	// FileFailed: a tool failed; what it said is on the standard error.
	FileFailed FileStatus = "fail"
)

var fileStatuses = []FileStatus{
	FileOK, FileStaged, FileBig, FilePlain, FileMissing, FileIsDir, FileNotDir, FileSpecial, FileDenied, FileNotEmpty, FileLoop,
	FileWrongSize, FileNoTool, FileNoBase, FileFailed,
}

// FileReply is the answer to a [FileRequest].
type FileReply struct {
	Status FileStatus
	// Fields are words without blanks whose meaning depends on the request.
	Fields []string
	// Body is what follows the line: records, or bytes of a file.
	Body []byte
}

const fileMagic = "smolfs1 "

// Encode returns the reply as the script writes it.
func (r *FileReply) Encode() []byte {
	words := append([]string{string(r.Status)}, r.Fields...)
	return append([]byte(fileMagic+strings.Join(words, " ")+"\n"), r.Body...)
}

// ParseFileReply reads what the exec of a [FileRequest] wrote to its standard output. What is no reply gives [ErrNoShell].
func ParseFileReply(stdout []byte) (*FileReply, error) {
	line, body, found := bytes.Cut(stdout, []byte("\n"))
	words, ours := strings.CutPrefix(string(line), fileMagic)
	fields := strings.Fields(words)
	if !found || !ours || len(fields) == 0 || !slices.Contains(fileStatuses, FileStatus(fields[0])) {
		return nil, ErrNoShell
	}
	return &FileReply{Status: FileStatus(fields[0]), Fields: fields[1:], Body: body}, nil
}

// CutReply is what a [FileCut] is told about the file.
type CutReply struct {
	// Size is the size of the whole file.
	Size int64
	// Identity changes when the path comes to mean another file.
	Identity string
	// Length is how many bytes there are of the range wanted, as far as they were cut. It is 0 with [FileBig].
	Length int64
}

// Cut reads the fields of the reply to a [FileCut].
func (r *FileReply) Cut() (*CutReply, error) {
	c := &CutReply{Length: int64(len(r.Body))}
	want := 2
	if r.Status == FileStaged {
		want = 3
	}
	if len(r.Fields) != want {
		return nil, fmt.Errorf("reply has %d fields, not %d", len(r.Fields), want)
	}
	c.Identity = r.Fields[1]
	var err error
	if c.Size, err = strconv.ParseInt(r.Fields[0], 10, 64); err == nil && want == 3 {
		c.Length, err = strconv.ParseInt(r.Fields[2], 10, 64)
	}
	if err == nil && (c.Size < 0 || c.Length < 0) {
		err = fmt.Errorf("reply has a negative size")
	}
	return c, err
}

// Fields returns c as the fields of a reply with that status.
func (c *CutReply) Fields(status FileStatus) []string {
	fields := []string{strconv.FormatInt(c.Size, 10), c.Identity}
	if status == FileStaged {
		fields = append(fields, strconv.FormatInt(c.Length, 10))
	}
	return fields
}
