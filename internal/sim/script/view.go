package script

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// view waits as v says and returns what the runner would answer about the job.
func (i *instance) view(ctx context.Context, base, id string, v *guest.View) (*guest.Reply, error) {
	key := path.Join(base, id)
	j := i.jobs.get(key)
	if j != nil {
		i.await(ctx, j, v)
	}
	r := i.state(key)
	reply := &guest.Reply{State: r.State, Code: r.Code, Started: r.Started, Ended: r.Ended, Base: base}
	shown := v.Of(r.State)
	v = &shown
	var err error
	if reply.StdoutSize, reply.Stdout, err = i.part(key+".out", v.Stdout, v); err != nil {
		return nil, err
	}
	reply.StderrSize, reply.Stderr, err = i.part(key+".err", v.Stderr, v)
	return reply, err
}

// await returns when the job has ended, when there is news and v asks for it, or when the wait is over.
func (i *instance) await(ctx context.Context, j *job, v *guest.View) {
	limit := time.NewTimer(v.Wait)
	defer limit.Stop()
	for j.running() {
		next := j.next()
		if v.News && (i.size(j.key+".out") > v.Stdout || i.size(j.key+".err") > v.Stderr) {
			return
		}
		select {
		case <-j.done:
		case <-next:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// record is what is written down about a job; nothing readable there is a job that began and was lost.
func (i *instance) record(key string) record {
	r := record{State: guest.Running}
	data, err := i.tree.ReadFile(key + ".exit")
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return record{State: guest.Running}
	}
	return r
}

func (i *instance) size(name string) int64 {
	if fi, err := i.tree.Stat(name); err == nil {
		return fi.Size()
	}
	return 0
}

// part cuts the piece of a stream that v wants from offset on.
func (i *instance) part(name string, offset int64, v *guest.View) (int64, guest.Part, error) {
	f, err := i.tree.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, guest.Part{Offset: offset}, nil
	}
	if err != nil {
		return 0, guest.Part{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return 0, guest.Part{}, err
	}
	size := fi.Size()
	p := guest.Part{Offset: offset}
	head, tail := max(size-offset, 0), int64(0)
	if there := head; there > v.Budget {
		head = v.Budget
		if v.Clip {
			head = v.Budget * 2 / 3
			tail = v.Budget - head
			p.Dropped = there - v.Budget
			p.Head = int(head)
		}
	}
	p.Data = make([]byte, head+tail)
	if _, err := io.ReadFull(io.NewSectionReader(f, offset, head), p.Data[:head]); err != nil {
		return 0, p, err
	}
	_, err = io.ReadFull(io.NewSectionReader(f, size-tail, tail), p.Data[head:])
	return size, p, err
}
