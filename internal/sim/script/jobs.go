package script

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// jobs are the commands that the runner has started since this boot.
type jobs struct {
	taking sync.Mutex // held while a job comes to be

	mu sync.Mutex
	m  map[string]*job // by base and id
}

func (js *jobs) add(j *job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.m == nil {
		js.m = map[string]*job{}
	}
	js.m[j.key] = j
}

func (js *jobs) get(key string) *job {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.m[key]
}

func (js *jobs) remove(key string) {
	js.mu.Lock()
	defer js.mu.Unlock()
	delete(js.m, key)
}

// job is a command that the runner keeps.
type job struct {
	key  string // base/id; the files are key.*
	proc *process

	mu   sync.Mutex
	late bool          // its deadline has passed
	full bool          // a stream is longer than it may be
	told []int         // the signals it was sent
	news chan struct{} // closed and replaced when there is output
	done chan struct{} // closed when the end is written down, or never will be
}

// record is how a job ended, or that it began; it lies in a file of the job.
type record struct {
	State          guest.State
	Code           int
	Started, Ended time.Duration
}

// begin starts the command of a job that has just been taken.
func (i *instance) begin(exec *Call, s *guest.Start, base string) (err error) {
	j := &job{key: path.Join(base, s.ID), news: make(chan struct{}), done: make(chan struct{})}
	began := record{State: guest.Running, Started: i.uptime()}
	if err := i.note(j.key, began); err != nil {
		return err
	}
	var files []io.Closer
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	if s.Note != "" {
		if err := i.tree.WriteFile(j.key+".note", []byte(s.Note), 0o600); err != nil {
			return err
		}
	}
	var streams [2]io.Writer
	for n, name := range []string{".out", ".err"} {
		f, err := i.tree.OpenFile(j.key+name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		files, streams[n] = append(files, f), &noisy{j: j, w: f, left: s.Limit, limited: s.Limit > 0}
	}
	c, broken := i.jobCall(exec, s, base)
	var merged bool
	if c.Argv, merged = guest.ParseMerged(c.Argv); merged {
		streams[1] = streams[0]
	}
	var stdin io.Reader
	if f, err := i.tree.Open(s.Stdin); err == nil {
		_ = i.tree.Remove(s.Stdin) // Windows refuses, and it stays until it is acknowledged
		stdin, files = f, append(files, f)
	}
	run := func(ctx context.Context) int { return i.runJob(ctx, c, broken) }
	if j.proc, err = i.launch(c, stdin, streams[0], streams[1], true, run); err != nil {
		return err
	}
	i.jobs.add(j)
	if _, err := i.prune(&guest.Prune{Bases: []string{base}, Keep: pruneKeep, Age: pruneAge}); err != nil {
		return err
	}
	i.keepers.Add(1)
	go i.keep(j, began, s.Timeout, files)
	return nil
}

// jobCall is the command of s as a function sees it; broken says why it cannot be known.
func (i *instance) jobCall(exec *Call, s *guest.Start, base string) (c *Call, broken error) {
	files := s.Files()
	broken = s.Resolve(i.tree.ReadFile)
	for _, f := range files {
		_ = i.tree.Remove(f) // as rm -f
	}
	if len(s.Argv) == 0 {
		s.Argv = []string{"sh"}
	}
	st := i.stored(base)
	c = &Call{Argv: s.Argv, Env: jobEnv(exec.Env, st.Env, s), Dir: exec.Dir, User: exec.User, Files: i.tree}
	for _, dir := range []string{st.Dir, s.Dir} {
		if dir != "" {
			c.Dir = exec.Path(dir)
		}
	}
	return c, broken
}

// jobEnv is the environment of a job: that of the exec, then what is stored in the machine, then its own. Of several values the last counts.
func jobEnv(exec []string, st map[string]string, s *guest.Start) []string {
	all := slices.Clone(exec)
	for _, name := range slices.Sorted(maps.Keys(st)) {
		all = append(all, name+"="+st[name])
	}
	all = append(append(all, s.Env...), "SMOL_JOB="+s.ID)
	at := map[string]int{}
	env := all[:0]
	for _, kv := range all {
		name, _, _ := strings.Cut(kv, "=")
		if n, ok := at[name]; ok {
			env[n] = kv
			continue
		}
		at[name] = len(env)
		env = append(env, kv)
	}
	return env
}

// runJob calls the guest's function as a shell would call the program.
func (i *instance) runJob(ctx context.Context, c *Call, broken error) int {
	if broken != nil {
		fmt.Fprintln(c.Stderr, broken)
		return 126
	}
	if err := i.isDir(c.Dir); err != nil {
		fmt.Fprintf(c.Stderr, "cd: %s: cannot be entered\n", c.Dir)
		return 126
	}
	return i.answer(ctx, c)
}

// keep writes down how a job ends, and ends it when its time is up.
func (i *instance) keep(j *job, r record, limit time.Duration, files []io.Closer) {
	defer i.keepers.Done()
	defer close(j.done)
	if limit > 0 {
		defer time.AfterFunc(limit, j.expire).Stop()
	}
	code, err := j.proc.Wait()
	closeAll(files)
	if err != nil {
		return // the machine is gone, and nobody writes down anything
	}
	r.State, r.Code = j.verdict(code)
	r.Ended = i.uptime()
	_ = i.note(j.key, r) // a full disk: the job is lost then, as it would be
}

func (j *job) expire() {
	j.mu.Lock()
	j.late = true
	j.mu.Unlock()
	_ = j.proc.Signal(sigKill) // it may have ended
}

// verdict is how a job ended whose command exited with code.
func (j *job) verdict(code int) (guest.State, int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case slices.Contains(j.told, code-128), j.full && code == 128+sigKill:
		return guest.Signaled, code
	case j.late && code == 128+sigKill:
		return guest.TimedOut, timedOut
	}
	return guest.Exited, code
}

// timedOut is the exit code of a job whose deadline has passed.
const timedOut = 124

func (j *job) running() bool {
	select {
	case <-j.done:
		return false
	default:
		return true
	}
}

// next is closed when there is more output.
func (j *job) next() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.news
}

// noisy is a stream of a job that tells when something was written.
type noisy struct {
	j       *job
	w       io.Writer
	limited bool
	left    int64 // of what may be written
}

// Write implements io.Writer. One call at a time is made for each stream.
func (n *noisy) Write(b []byte) (int, error) {
	whole := b
	if n.limited {
		b = b[:min(int64(len(b)), n.left)]
		n.left -= int64(len(b))
	}
	c, err := n.w.Write(b)
	if err == nil && len(b) < len(whole) {
		n.j.mu.Lock()
		n.j.full = true
		n.j.mu.Unlock()
		_ = n.j.proc.Signal(sigKill) // it may have ended
		return c, os.ErrClosed
	}
	n.j.mu.Lock()
	defer n.j.mu.Unlock()
	close(n.j.news)
	n.j.news = make(chan struct{})
	return c, err
}

func (i *instance) uptime() time.Duration {
	return time.Since(i.booted).Truncate(10 * time.Millisecond)
}

// note writes the record of a job.
func (i *instance) note(key string, r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = i.tree.Replace(key+".exit", strings.NewReader(string(data)), 0o600)
	return err
}

func closeAll(files []io.Closer) {
	for _, f := range files {
		f.Close()
	}
}
