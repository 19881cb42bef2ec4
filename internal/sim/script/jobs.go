package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// jobs are the commands that the runner of a machine keeps. What they wrote and how they ended lies in files, as it does with the
// real runner: it is there after the machine was stopped, and in a copy of its disk.
type jobs struct {
	mu sync.Mutex
	m  map[string]*job // by directory
}

// job is a command kept since this boot.
type job struct {
	dir  string
	proc *process

	mu   sync.Mutex
	late bool          // its deadline has passed
	told string        // the signal it was sent, ""
	news chan struct{} // closed and replaced when there is output
	done chan struct{} // closed when the end is written down, or never will be
}

// record is how a job ended, or that it began; it lies in the job's directory.
type record struct {
	State          guest.State
	Code           int
	Started, Ended time.Duration
}

// stored is what Setup stores in the base.
type stored struct {
	Env map[string]string
	Dir string
}

const (
	recordFile = "exit.json"
	storedFile = "setup.json"
)

// base returns the first of the bases that can be written, making it.
func (i *instance) base(bases []string) (string, error) {
	for _, b := range bases {
		if err := i.tree.MkdirAll(b, 0o700); err != nil {
			continue
		}
		if p, err := i.tree.find(b, true); err == nil && !p.readOnly {
			return b, nil
		}
	}
	return "", guest.ErrNoBase
}

// setup stores env and directory.
func (i *instance) setup(s *guest.Setup) (string, error) {
	base, err := i.base(s.Bases)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(stored{s.Env, s.Dir})
	if err != nil {
		return "", err
	}
	_, err = i.tree.Replace(path.Join(base, storedFile), strings.NewReader(string(data)), 0o600)
	return base, err
}

func (i *instance) stored(base string) (s stored) {
	if data, err := i.tree.ReadFile(path.Join(base, storedFile)); err == nil {
		_ = json.Unmarshal(data, &s) // ours; a file that somebody else wrote stores nothing
	}
	return s
}

// start starts a job, or joins one that exists, and waits as its view says.
func (i *instance) start(ctx context.Context, exec *Call, s *guest.Start) (*guest.Reply, error) {
	base, err := i.base(s.Bases)
	if err != nil {
		return nil, err
	}
	for _, id := range s.Ack {
		i.ack(path.Join(base, id))
	}
	dir := path.Join(base, s.ID)
	switch err := i.tree.Mkdir(dir, 0o700); {
	case errors.Is(err, fs.ErrExist):
		v := s.View
		v.Stdout, v.Stderr = 0, 0
		return i.view(ctx, base, dir, &v)
	case err != nil:
		return nil, err
	}
	if err := i.begin(exec, s, base, dir); err != nil {
		return nil, err
	}
	return i.view(ctx, base, dir, &s.View)
}

// ack removes the files of a job that has ended.
func (i *instance) ack(dir string) {
	i.jobs.mu.Lock()
	j := i.jobs.m[dir]
	if j != nil && j.running() {
		i.jobs.mu.Unlock()
		return
	}
	delete(i.jobs.m, dir)
	i.jobs.mu.Unlock()
	_ = i.tree.RemoveAll(dir) // as rm -rf: what cannot go stays
}

// begin starts the command of a job whose directory has just been made.
func (i *instance) begin(exec *Call, s *guest.Start, base, dir string) error {
	stdout, err := i.tree.OpenFile(path.Join(dir, "out"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	stderr, err := i.tree.OpenFile(path.Join(dir, "err"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		stdout.Close()
		return err
	}
	began := record{State: guest.Running, Started: i.uptime()}
	if err := i.write(dir, began); err != nil {
		return errors.Join(err, stdout.Close(), stderr.Close())
	}
	st := i.stored(base)
	c := &Call{Argv: s.Argv, Env: jobEnv(exec.Env, st.Env, s), Dir: exec.Dir, User: exec.User, Files: i.tree}
	for _, dir := range []string{st.Dir, s.Dir} {
		if dir != "" {
			c.Dir = exec.Path(dir)
		}
	}
	stdin := i.takeStdin(s.Stdin)
	j := &job{dir: dir, news: make(chan struct{}), done: make(chan struct{})}
	run := func(ctx context.Context) int { return i.runJob(ctx, c) }
	j.proc, err = i.launch(c, stdin, &noisy{j, stdout}, &noisy{j, stderr}, run)
	if err != nil {
		return errors.Join(err, stdout.Close(), stderr.Close())
	}
	j.proc.mu.Lock()
	j.proc.started = true
	j.proc.mu.Unlock()
	i.jobs.add(j)
	i.keepers.Add(1)
	go i.keep(j, began, s.Timeout, stdout, stderr, stdin)
	return nil
}

func (js *jobs) add(j *job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.m == nil {
		js.m = map[string]*job{}
	}
	js.m[j.dir] = j
}

func (js *jobs) get(dir string) *job {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.m[dir]
}

// jobEnv is the environment of a job: that of the exec, then what is stored in the machine, then its own.
func jobEnv(exec []string, st map[string]string, s *guest.Start) []string {
	env := slices.Clone(exec)
	for _, name := range slices.Sorted(maps.Keys(st)) {
		env = append(env, name+"="+st[name])
	}
	env = append(env, s.Env...)
	return append(dedup(env), "SMOL_JOB="+s.ID)
}

// dedup keeps the last of each variable, in the place of the first.
func dedup(env []string) []string {
	at := map[string]int{}
	out := env[:0:0]
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if n, ok := at[name]; ok {
			out[n] = kv
			continue
		}
		at[name] = len(out)
		out = append(out, kv)
	}
	return out
}

// takeStdin opens the file of a job's input and removes its name.
func (i *instance) takeStdin(name string) io.Reader {
	if name == "" {
		return nil
	}
	f, err := i.tree.Open(name)
	if err != nil {
		return nil
	}
	_ = i.tree.Remove(name) // Windows keeps it until it is closed; the job's directory goes anyway
	return f
}

// runJob calls the guest's function as a shell would call the program.
func (i *instance) runJob(ctx context.Context, c *Call) int {
	if err := i.isDir(c.Dir); err != nil {
		fmt.Fprintf(c.Stderr, "sh: cd: can't cd to %s\n", c.Dir)
		return 126
	}
	return i.answer(ctx, c)
}

// keep writes down how a job ends, and ends it when its time is up.
func (i *instance) keep(j *job, r record, limit time.Duration, files ...any) {
	defer i.keepers.Done()
	defer close(j.done)
	if limit > 0 {
		t := time.AfterFunc(limit, func() {
			j.mu.Lock()
			j.late = true
			j.mu.Unlock()
			_ = j.proc.Signal(sigKill)
		})
		defer t.Stop()
	}
	code, err := j.proc.Wait()
	for _, f := range files {
		if c, ok := f.(io.Closer); ok {
			c.Close()
		}
	}
	if err == nil { // else the machine is gone, and nobody writes down anything
		j.mu.Lock()
		r.State, r.Code, r.Ended = j.verdict(code), code, i.uptime()
		j.mu.Unlock()
		_ = i.write(j.dir, r) // a full disk: the job is lost then, as it would be
	}
}

// verdict is the state of a job that ended with code; j.mu is held.
func (j *job) verdict(code int) guest.State {
	switch {
	case j.late && code == 128+sigKill:
		return guest.TimedOut
	case j.told != "" && code > 128:
		return guest.Signaled
	}
	return guest.Exited
}

func (j *job) running() bool {
	select {
	case <-j.done:
		return false
	default:
		return true
	}
}

// bell wakes whoever waits for news of the job.
func (j *job) bell() {
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.news)
	j.news = make(chan struct{})
}

func (j *job) next() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.news
}

// noisy is a stream of a job that tells when something was written.
type noisy struct {
	j *job
	w io.Writer
}

func (n *noisy) Write(b []byte) (int, error) {
	c, err := n.w.Write(b)
	n.j.bell()
	return c, err
}

func (i *instance) uptime() time.Duration {
	return time.Since(i.booted).Truncate(10 * time.Millisecond)
}

func (i *instance) write(dir string, r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = i.tree.Replace(path.Join(dir, recordFile), strings.NewReader(string(data)), 0o600)
	return err
}
