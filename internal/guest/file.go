package guest

import (
	_ "embed"
	"encoding/base64"
	"strconv"
)

//go:embed file.sh
var fileSource string

// fileScript is what works on files inside the machine. It is run as `sh -c fileScript smolfs OP ARGS…` by a plain exec, one for each
// operation.
var fileScript = strip(fileSource)

// FileName is $0 of the script that works on files.
const FileName = "smolfs"

// FileRequest is one operation on files. Paths are absolute.
type FileRequest interface {
	// Argv is the command that carries it out in the machine.
	Argv() []string
}

// FilePiece is a file in the stage directory and the size that it must have.
type FilePiece struct {
	Path string
	Size int64
}

// FileBase asks for the first of the bases that can be used, and makes the directory for stages in it: see [StageDir]. Stages that nobody has
// touched for a day are removed. The reply's field is the base.
type FileBase struct{ Bases []string }

// FileJoin appends the pieces after the first to the first and removes them.
type FileJoin struct{ Pieces []FilePiece }

// FileAppend appends Data to the stage, making it. Data travels in the argument itself, so it has to be small.
type FileAppend struct {
	Stage string
	Data  []byte
}

// FileCommit joins the pieces and makes them the file Path, in one step as seen by readers: its parents are made, a link is followed, owner
// and mode of a file that is there are kept. The pieces are gone afterwards, whatever happens.
type FileCommit struct {
	Path string
	// Mode is the mode of the file, as chmod takes it. Negative: that of the file that is there, else 0644.
	Mode   int
	Pieces []FilePiece
}

// FileDrop removes every stage whose path begins with Prefix. With Late it does so again some seconds later, after the reply: for stages
// that something whose reply was not waited for may still be about to write.
type FileDrop struct {
	Prefix string
	Late   bool
}

// FileCut asks for a range of a file. The reply's fields are those of [FileReply.Cut]. Up to Inline bytes come as the reply's body; a longer
// range goes into the file Stage, up to Window bytes of it ([FileStaged]), or without Stage nowhere ([FileBig]). A file that has
// no size of its own, as in /proc, is read up to Inline bytes.
type FileCut struct {
	Path   string
	Offset int64
	// Length is how many bytes are wanted. Negative: up to the end.
	Length int64
	Inline int64
	Stage  string
	Window int64
}

// FileStat asks for a file's [FileRecord], its Name being Path.
type FileStat struct {
	Path   string
	Follow bool
}

// FileList asks for the records of a directory's entries, as the body of the reply or, with Stage, in that file. A body that is cut short lacks
// its end, and [ReadFileRecords] says so: ask again with Stage.
type FileList struct{ Dir, Stage string }

// FileMkdir makes a directory and its parents. One that is there is left as it is.
type FileMkdir struct {
	Path string
	// Mode is the mode of the directories made, as chmod takes it.
	Mode int
}

// FileRemove removes a file or an empty directory; with All a whole tree, and what is not there is no failure.
type FileRemove struct {
	Path string
	All  bool
}

// FileTar packs the tree under Dir into Stage, without the base that Stage lies in. The reply's fields are the size and tar's exit code,
// or the status is [FilePlain] if Dir is not a directory.
type FileTar struct{ Dir, Stage string }

// FileUntar unpacks the tree in the pieces under Dir, making it. The pieces are gone afterwards, whatever happens.
type FileUntar struct {
	Dir    string
	Pieces []FilePiece
}

// StageDir returns the directory for stages in a base that [FileBase] has found.
func StageDir(base string) string { return base + "/.files" }

func fileArgv(op string, args ...string) []string {
	return append([]string{"sh", "-c", fileScript, FileName, op}, args...)
}

// Argv implements [FileRequest].
func (r *FileBase) Argv() []string { return fileArgv("base", r.Bases...) }

// Argv implements [FileRequest].
func (r *FileJoin) Argv() []string { return fileArgv("join", filePieceArgs(r.Pieces)...) }

// Argv implements [FileRequest].
func (r *FileAppend) Argv() []string {
	return fileArgv("append", r.Stage, base64.StdEncoding.EncodeToString(r.Data))
}

// Argv implements [FileRequest].
func (r *FileCommit) Argv() []string {
	mode := "-"
	if r.Mode >= 0 {
		mode = strconv.FormatInt(int64(r.Mode), 8) // as stat says it, which saves the chmod to what is there already
	}
	return fileArgv("commit", append([]string{r.Path, mode}, filePieceArgs(r.Pieces)...)...)
}

// Argv implements [FileRequest].
func (r *FileDrop) Argv() []string { return fileArgv("drop", r.Prefix, fileFlag(r.Late, "late")) }

// Argv implements [FileRequest].
func (r *FileCut) Argv() []string {
	return fileArgv("cut", r.Path, fileDecimal(r.Offset), fileDecimal(r.Length), fileDecimal(r.Inline), r.Stage, fileDecimal(r.Window))
}

// Argv implements [FileRequest].
func (r *FileStat) Argv() []string {
	follow := "-"
	if r.Follow {
		follow = "follow"
	}
	return fileArgv("stat", r.Path, follow)
}

// Argv implements [FileRequest].
func (r *FileList) Argv() []string { return fileArgv("list", r.Dir, r.Stage) }

// Argv implements [FileRequest].
func (r *FileMkdir) Argv() []string {
	// The mask gives the parents their mode too; chmod is needed for the bits that no mask has.
	special := "-"
	if r.Mode&^0o777 != 0 {
		special = fileOctal(r.Mode)
	}
	return fileArgv("mkdir", r.Path, special, fileOctal(0o777&^r.Mode))
}

// Argv implements [FileRequest].
func (r *FileRemove) Argv() []string {
	all := "-"
	if r.All {
		all = "all"
	}
	return fileArgv("remove", r.Path, all)
}

// Argv implements [FileRequest].
func (r *FileTar) Argv() []string { return fileArgv("tar", r.Dir, r.Stage) }

// Argv implements [FileRequest].
func (r *FileUntar) Argv() []string {
	return fileArgv("untar", append([]string{r.Dir}, filePieceArgs(r.Pieces)...)...)
}

func filePieceArgs(pieces []FilePiece) []string {
	args := make([]string, 0, 2*len(pieces))
	for _, p := range pieces {
		args = append(args, p.Path, fileDecimal(p.Size))
	}
	return args
}

func fileDecimal(n int64) string { return strconv.FormatInt(n, 10) }

func fileOctal(n int) string { return "0" + strconv.FormatInt(int64(n), 8) }

// fileFlag is word if b, and else "-".
func fileFlag(b bool, word string) string {
	if b {
		return word
	}
	return "-"
}
