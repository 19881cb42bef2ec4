package script

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// ids returns the ids of the jobs in the base, sorted.
func (i *instance) ids(base string) (ids []string) {
	entries, _ := i.tree.ReadDir(base) // no base: no jobs
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".job"); ok && strings.HasPrefix(id, "job-") {
			ids = append(ids, id)
		}
	}
	return ids
}

// list returns the jobs of the bases.
func (i *instance) list(bases []string) (all []guest.Listed) {
	i.jobs.taking.Lock()
	defer i.jobs.taking.Unlock()
	for _, base := range bases {
		for _, id := range i.ids(base) {
			r := i.state(path.Join(base, id))
			note, _ := i.tree.ReadFile(path.Join(base, id+".note")) // there may be none
			all = append(all, guest.Listed{ID: id, State: r.State, Code: r.Code, Started: r.Started, Ended: r.Ended, Note: string(note)})
		}
	}
	return all
}

// orphan answers for a job whose files are gone: it is lost if something of it lives, which is sent the signal.
func (i *instance) orphan(id string, signal int) (*guest.Reply, error) {
	i.jobs.mu.Lock()
	defer i.jobs.mu.Unlock()
	for key, j := range i.jobs.m {
		if path.Base(key) != id || !j.running() {
			continue
		}
		if signal != 0 {
			_ = j.proc.Signal(signal) // it may have ended
		}
		return &guest.Reply{State: guest.Lost, Ended: i.uptime(), Base: path.Dir(key)}, nil
	}
	return nil, guest.ErrNoJob
}

// removeJob removes a job that does not run.
func (i *instance) removeJob(r *guest.Remove) (*guest.Reply, error) {
	base, err := i.seek(r.Bases, r.ID)
	if err != nil {
		return nil, err
	}
	if i.state(path.Join(base, r.ID)).State == guest.Running {
		return nil, guest.ErrBusy
	}
	i.ack(base, r.ID)
	return i.removed(1), nil
}

// prune removes old jobs.
func (i *instance) prune(p *guest.Prune) (*guest.Reply, error) {
	n := 0
	for _, base := range p.Bases {
		ids := i.ids(base)
		slices.Reverse(ids)
		kept := 0
		for _, id := range ids {
			r := i.state(path.Join(base, id))
			if r.State == guest.Running {
				continue
			}
			if kept++; kept > p.Keep && i.uptime()-r.Ended >= p.Age {
				i.ack(base, id)
				n++
			}
		}
	}
	return i.removed(n), nil
}

func (i *instance) removed(n int) *guest.Reply {
	now := i.uptime()
	return &guest.Reply{State: guest.Ready, StdoutSize: int64(n), Started: now, Ended: now, Base: "-"}
}

// grep answers with the lines that match.
func (i *instance) grep(g *guest.Grep) (*guest.Reply, error) {
	base, err := i.seek(g.Bases, g.ID)
	if err != nil {
		return nil, err
	}
	pattern := g.Pattern
	if g.Fixed {
		pattern = regexp.QuoteMeta(pattern)
	}
	if g.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, guest.ErrPattern
	}
	key := path.Join(base, g.ID)
	r := i.state(key)
	reply := &guest.Reply{State: r.State, Code: r.Code, Started: r.Started, Ended: r.Ended, Base: base}
	var found [2][]byte
	for n, name := range []string{".out", ".err"} {
		data, _ := i.tree.ReadFile(key + name) // there may be none
		line := 0
		for text := range bytes.Lines(data) {
			text = bytes.TrimSuffix(text, []byte("\n"))
			if line++; re.Match(text) {
				found[n] = append(append(append(strconv.AppendInt(found[n], int64(line), 10), ':'), text...), '\n')
			}
		}
	}
	reply.Cut(found[0], found[1], g.View())
	return reply, nil
}

// state is what is written down about a job, or that it is lost, with the present as its end.
func (i *instance) state(key string) record {
	r := i.record(key)
	if r.State != guest.Running {
		return r
	}
	if j := i.jobs.get(key); j == nil || !j.running() {
		if r = i.record(key); r.State == guest.Running { // it may have ended between the two looks
			r.State = guest.Lost
		}
	}
	if r.State == guest.Running || r.State == guest.Lost {
		r.Ended = i.uptime()
	}
	return r
}

// pruneKeep and pruneAge are what every start of a job removes.
const (
	pruneKeep = 50
	pruneAge  = time.Hour
)
