package smol

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/limit"
	"github.com/smol-machines/smol-go/internal/randhex"
)

// stageCleanup bounds the removal of stages when an operation has failed. What it does not reach the machine removes after a day.
const stageCleanup = 5 * time.Second

// fileOp is one operation on files of a machine.
type fileOp struct {
	m     *Machine
	name  string // in errors, such as "read file"
	path  string // the path that it is about, in errors and in the machine
	reads bool   // it changes nothing
	said  string // what the tools in the machine said last
	visit *visit
}

// fileOp starts an operation on the file at p, which it checks.
func (m *Machine) fileOp(name, p string) (*fileOp, error) {
	clean, err := cleanPath("path", p)
	if err != nil {
		return nil, wrapError(name, m.Name(), err)
	}
	return &fileOp{m: m, name: name, path: clean, visit: &visit{m: m}}, nil
}

// wrap gives err the names of the operation.
func (o *fileOp) wrap(err error) error {
	err = wrapError(o.name, o.m.Name(), err)
	// A machine that is missing is no missing file, and the path is what tells the one from the other.
	if e, ok := err.(*Error); ok && !isMissingMachine(e) {
		e.Path = o.path
	}
	return err
}

// in runs a call to the inside of the machine.
func (o *fileOp) in(ctx context.Context, class limit.Class, fn func(ctx context.Context, id string) error) error {
	return o.again(func() error {
		err := o.m.inPlace(ctx, class, fn, o.visit.enter)
		if err == nil {
			o.visit.arrived()
		}
		return err
	})
}

// again makes a call, and once more if it only reads and the reference may have come to mean another machine.
func (o *fileOp) again(call func() error) error {
	err := call()
	if o.reads && isMissingMachine(err) && o.m.forget() {
		err = call()
	}
	return err
}

// exec carries out a request in the machine. Its errors are for the caller.
func (o *fileOp) exec(ctx context.Context, req guest.FileRequest) (*guest.FileReply, error) {
	return o.execLater(ctx, func() guest.FileRequest { return req })
}

// execLater is exec for a request that needs to know the machine's mounts.
func (o *fileOp) execLater(ctx context.Context, build func() guest.FileRequest) (*guest.FileReply, error) {
	if err := o.m.guest.shell(); err != nil {
		return nil, o.noShell(err)
	}
	var reply *guest.FileReply
	err := o.in(ctx, limit.Ordinary, func(ctx context.Context, id string) error {
		// Not in the directory of Spec.Dir, which may be what this is about to make.
		res, err := o.m.fleet.backend.Exec(ctx, id, &ExecRequest{Argv: build().Argv(), Dir: "/"})
		if err != nil {
			return shellError(err)
		}
		o.said = string(res.Stderr)
		if reply, err = guest.ParseFileReply(res.Stdout); err != nil {
			return noReply(res)
		}
		return nil
	})
	if err = o.m.confirmNoShell(ctx, err); errors.Is(err, guest.ErrNoShell) {
		return nil, o.noShell(err)
	}
	if err == nil {
		err = o.failure(reply)
	}
	return reply, o.wrap(err)
}

// noShell says what an image without a shell lacks.
func (o *fileOp) noShell(err error) error {
	return o.wrap(&Error{
		Code: CodeUnsupported, Err: err, Message: "this needs a shell in the machine, and there is none",
		Hint: "use an image with a POSIX sh and the usual tools, such as busybox; whole files can be read and written without",
	})
}

// errWrongSize is the cause of a failure to stage: the service said that it has written what cannot be found in the machine.
var errWrongSize = errors.New("the size in the machine is another one")

// fileFailures is what the answers of the machine mean.
var fileFailures = map[guest.FileStatus]Error{
	guest.FileMissing:  {Code: CodeNotFound, Message: "there is no such file"},
	guest.FileIsDir:    {Code: CodeInvalid, Message: "is a directory"},
	guest.FileNotDir:   {Code: CodeInvalid, Message: "is not a directory, or lies below a file"},
	guest.FileSpecial:  {Code: CodeInvalid, Message: "is neither a file nor a directory", Hint: "read it with a command"},
	guest.FileDenied:   {Code: CodePermissionDenied, Message: "the user that commands run as may not do that"},
	guest.FileNotEmpty: {Code: CodeConflict, Message: "is a directory that is not empty", Hint: "set RemoveOptions.Recursive", Err: fs.ErrExist},
	guest.FileLoop:     {Code: CodeInvalid, Message: "is a symbolic link that leads nowhere"},
	guest.FileWrongSize: {
		Code: CodeInternal, Message: "what was uploaded is not in the machine, although the service said so", Err: errWrongSize,
		Hint: "write below /workspace, or after a command has run",
	},
	guest.FileNoBase: {
		Code: CodeUnsupported, Message: guest.ErrNoBase.Error(), Err: guest.ErrNoBase,
		Hint: "make /workspace or /var/tmp writable",
	},
}

// failure returns the failure that the machine's answer tells of, or nil.
func (o *fileOp) failure(reply *guest.FileReply) error {
	switch reply.Status {
	case guest.FileOK, guest.FileStaged, guest.FileBig, guest.FilePlain:
		return nil
	case guest.FileNoTool:
		return &Error{
			Code: CodeUnsupported, Message: "the machine has no program " + strings.Join(reply.Fields, " "),
			Hint: "use an image that has it; busybox has all that is needed",
		}
	}
	if e, ok := fileFailures[reply.Status]; ok {
		e.Path = o.path // for it is the file that is missing and not the machine
		return &e
	}
	said := strings.TrimSpace(o.said)
	if said == "" {
		said = "the machine could not do it"
	}
	return &Error{Code: CodeInternal, Message: shorten(said, 300)}
}

// shorten returns s, or its beginning and end when it has more than about n bytes.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n*2/3], "") + " … " + strings.ToValidUTF8(s[len(s)-n/3:], "")
}

// fileState is what a handle knows about where stages may lie in its machine.
type fileState struct {
	mu       sync.Mutex
	id, base string
}

// base returns where stages may lie, asking the machine the first time.
func (o *fileOp) base(ctx context.Context) (string, error) {
	if base := o.knownBase(); base != "" {
		return base, nil
	}
	reply, err := o.execLater(ctx, func() guest.FileRequest { return &guest.FileBase{Bases: o.m.bases()} })
	if err != nil {
		return "", err
	}
	if len(reply.Fields) != 1 || !strings.HasPrefix(reply.Fields[0], "/") {
		return "", o.wrap(&Error{Code: CodeInternal, Message: "the machine does not say where files may be staged"})
	}
	s := &o.m.files
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id, s.base = o.m.ID(), reply.Fields[0]
	return s.base, nil
}

func (o *fileOp) knownBase() string {
	s := &o.m.files
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != o.m.ID() {
		return ""
	}
	return s.base
}

// stagePrefix returns how the names of this operation's stages begin, which nobody else's do.
func stagePrefix(base string) string { return guest.StageDir(base) + "/" + randhex.String(8) + "." }

// drop removes the stages with that prefix, also after ctx has ended. It boots no machine for that.
func (o *fileOp) drop(ctx context.Context, prefix string) {
	o.remove(ctx, &guest.FileDrop{Prefix: prefix, Late: ctx.Err() != nil})
}

// dropLate is drop after a failure: the request that failed may still be at work.
func (o *fileOp) dropLate(ctx context.Context, prefix string) {
	o.remove(ctx, &guest.FileDrop{Prefix: prefix, Late: true})
}

func (o *fileOp) remove(ctx context.Context, req *guest.FileDrop) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stageCleanup)
	defer cancel()

	_ = o.m.inPlace(ctx, limit.Short, func(ctx context.Context, id string) error { // nobody waits for what a day later is gone anyway
		_, err := o.m.fleet.backend.Exec(ctx, id, &ExecRequest{Argv: req.Argv(), Dir: "/", Timeout: time.Minute})
		return err
	}, func(ctx context.Context) error { return o.visit.stay(ctx, false) })
}
