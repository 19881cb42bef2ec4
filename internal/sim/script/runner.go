package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// The runner in Go. What a job wrote and how it ended lies in files, as with the real runner: it is there after the machine was
// stopped, and in a copy of its disk.

// stored is what Setup stores in the base.
type stored struct {
	Env map[string]string
	Dir string
}

// runner answers a request that guest.Parse has read.
func (i *instance) runner(ctx context.Context, c *Call, request any) (*guest.Reply, error) {
	switch r := request.(type) {
	case *guest.Start:
		return i.start(ctx, c, r)
	case *guest.Poll:
		i.jobs.taking.Lock()
		base, err := i.seek(r.Bases, r.ID)
		i.jobs.taking.Unlock()
		if err != nil {
			return i.orphan(r.ID, 0)
		}
		return i.view(ctx, base, r.ID, &r.View)
	case *guest.Signal:
		return i.signal(ctx, r)
	case *guest.Setup:
		return i.setup(r)
	}
	// A job that is just coming to be would look lost.
	i.jobs.taking.Lock()
	defer i.jobs.taking.Unlock()
	switch r := request.(type) {
	case *guest.Grep:
		return i.grep(r)
	case *guest.Remove:
		return i.removeJob(r)
	case *guest.Prune:
		return i.prune(r)
	}
	return nil, fmt.Errorf("smol1: unknown request %T", request)
}

// seek returns the base in which the job is.
func (i *instance) seek(bases []string, id string) (string, error) {
	for _, b := range bases {
		if _, err := i.tree.Stat(path.Join(b, id+".job")); err == nil {
			return b, nil
		}
	}
	return "", guest.ErrNoJob
}

// take makes the job in the first base that can be used; it reports false if it is there already.
func (i *instance) take(bases []string, id string) (base string, taken bool, err error) {
	if b, err := i.seek(bases, id); err == nil {
		return b, false, nil
	}
	for _, b := range bases {
		if i.tree.MkdirAll(b, 0o700) != nil {
			continue
		}
		f, err := i.tree.OpenFile(path.Join(b, id+".job"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case err == nil:
			return b, true, f.Close()
		case errors.Is(err, fs.ErrExist): // somebody was quicker
			return b, false, nil
		}
	}
	return "", false, guest.ErrNoBase
}

// setup makes the base and stores env and directory, if there are any.
func (i *instance) setup(s *guest.Setup) (*guest.Reply, error) {
	for _, b := range s.Bases {
		if i.tree.MkdirAll(b, 0o700) != nil {
			continue
		}
		if p, err := i.tree.find(b, true); err != nil || p.readOnly {
			continue
		}
		if s.Env != nil || s.Dir != "" {
			data, err := json.Marshal(stored{s.Env, s.Dir})
			if err != nil {
				return nil, err
			}
			if _, err := i.tree.Replace(path.Join(b, "env"), strings.NewReader(string(data)), 0o600); err != nil {
				continue
			}
		}
		return &guest.Reply{State: guest.Ready, Started: i.uptime(), Ended: i.uptime(), Base: b}, nil
	}
	return nil, guest.ErrNoBase
}

func (i *instance) stored(base string) (s stored) {
	if data, err := i.tree.ReadFile(path.Join(base, "env")); err == nil {
		_ = json.Unmarshal(data, &s) // a file that somebody else wrote stores nothing
	}
	return s
}

// start starts a job, or joins one that exists, and waits as its view says.
func (i *instance) start(ctx context.Context, exec *Call, s *guest.Start) (*guest.Reply, error) {
	base, err := i.takeAndBegin(exec, s)
	if err != nil {
		return nil, err
	}
	return i.view(ctx, base, s.ID, &s.View)
}

// takeAndBegin is one step for others, who would take a job that is there and not known for one that was lost.
func (i *instance) takeAndBegin(exec *Call, s *guest.Start) (base string, err error) {
	i.jobs.taking.Lock()
	defer i.jobs.taking.Unlock()
	base, taken, err := i.take(s.Bases, s.ID)
	if err != nil || !taken {
		return base, err
	}
	for _, id := range s.Ack {
		i.ack(base, id)
	}
	if err := i.begin(exec, s, base); err != nil {
		i.erase(base, s.ID)
		return "", errors.Join(guest.ErrNoBase, err)
	}
	return base, nil
}

// ack removes the files of a job that does not run.
func (i *instance) ack(base, id string) {
	key := path.Join(base, id)
	if j := i.jobs.get(key); j != nil && j.running() {
		return
	}
	i.jobs.remove(key)
	i.erase(base, id)
}

// erase removes the files of a job. As with rm -f, what cannot go stays.
func (i *instance) erase(base, id string) {
	entries, _ := i.tree.ReadDir(base)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), id+".") {
			_ = i.tree.Remove(path.Join(base, e.Name()))
		}
	}
}

// signal sends a signal, or takes the id so that nobody can start it any more.
func (i *instance) signal(ctx context.Context, s *guest.Signal) (*guest.Reply, error) {
	number := signalNumbers[s.Signal]
	if s.Known {
		base, err := i.seek(s.Bases, s.ID)
		if err != nil {
			return i.orphan(s.ID, number)
		}
		if j := i.jobs.get(path.Join(base, s.ID)); (j == nil || !j.running()) && number != sigKill && i.record(path.Join(base, s.ID)).State != guest.Running {
			return nil, guest.ErrEnded
		}
	}
	base, err := i.takeAsKilled(s, 128+number)
	if err != nil {
		return nil, err
	}
	v := &guest.View{}
	if j := i.jobs.get(path.Join(base, s.ID)); j != nil {
		v.Wait = j.signal(number)
	}
	return i.view(ctx, base, s.ID, v)
}

func (i *instance) takeAsKilled(s *guest.Signal, code int) (base string, err error) {
	i.jobs.taking.Lock()
	defer i.jobs.taking.Unlock()
	base, taken, err := i.take(s.Bases, s.ID)
	if err != nil || !taken {
		return base, err
	}
	now := i.uptime()
	if err := i.note(path.Join(base, s.ID), record{State: guest.Signaled, Code: code, Started: now, Ended: now}); err != nil {
		return "", errors.Join(guest.ErrNoBase, err)
	}
	return base, nil
}

// signalNumbers are the signals of the runner, as Linux numbers them.
var signalNumbers = map[string]int{
	"HUP": 1, "INT": 2, "QUIT": 3, "KILL": sigKill, "USR1": 10, "USR2": 12, "TERM": sigTerm, "CONT": sigCont, "STOP": sigStop,
}

// signal sends the signal and returns how long its sender waits for the end.
func (j *job) signal(number int) time.Duration {
	wait := 300 * time.Millisecond
	switch number {
	case sigCont, sigStop:
		wait = 0
	case sigKill:
		wait = 2 * time.Second
	}
	if wait > 0 {
		j.mu.Lock()
		j.told = append(j.told, number)
		j.mu.Unlock()
	}
	_ = j.proc.Signal(number) // it may have ended
	if number == sigTerm {
		_ = j.proc.Signal(sigCont) // what is stopped would not see it
	}
	return wait
}
