package smol_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/smol"
)

// Exec answers the runner's requests from the machine's jobs, the probe, and everything else as a plain command.
func (f *fake) Exec(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
	parsed, ok := guest.Parse(req.Argv)
	call := "exec plain"
	if ok {
		call = "exec " + strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", parsed), "*guest."))
	}
	return fakeCall(ctx, f, call, func() (*smol.ExecResult, error) {
		f.enter(1)
		defer f.enter(-1)
		if f.exec != nil {
			if res, err, done := f.exec(req); done {
				return res, err
			}
		}
		f.mu.Lock()
		m := f.machines[id]
		f.mu.Unlock()
		if m == nil {
			return nil, notFound(id)
		}
		if !ok {
			return f.plain(ctx, req)
		}
		reply, err := f.answer(ctx, m, parsed)
		if err != nil {
			return &smol.ExecResult{ExitCode: 3, Stdout: guest.EncodeError(err)}, nil
		}
		reply.Base = guest.BaseWorkspace
		return &smol.ExecResult{Stdout: reply.Encode()}, nil
	})
}

func (f *fake) enter(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live += n
	f.most = max(f.most, f.live)
}

func (f *fake) plain(ctx context.Context, req *smol.ExecRequest) (*smol.ExecResult, error) {
	if word, ok := strings.CutPrefix(req.Argv[len(req.Argv)-1], "echo "); ok {
		return &smol.ExecResult{Stdout: []byte(word + "\n")}, nil
	}
	end := f.run(ctx, req.Argv)
	return &smol.ExecResult{ExitCode: end.code, Stdout: []byte(end.stdout), Stderr: []byte(end.stderr)}, ctx.Err()
}

// run runs a command for real, as far as the test lets it.
func (f *fake) run(ctx context.Context, argv []string) fakeEnd {
	f.mu.Lock()
	f.runs = append(f.runs, strings.Join(argv, " "))
	f.mu.Unlock()
	if f.command == nil {
		return fakeEnd{}
	}
	return f.command(ctx, argv)
}

// answer is the runner.
func (f *fake) answer(ctx context.Context, m *fakeMachine, parsed any) (*guest.Reply, error) {
	switch q := parsed.(type) {
	case *guest.Setup:
		return &guest.Reply{State: guest.Ready}, nil
	case *guest.Start:
		j := f.job(m, q.ID, func(j *fakeJob) { f.start(j, q) })
		return j.view(ctx, &q.View), nil
	case *guest.Poll:
		j := f.job(m, q.ID, nil)
		if j == nil {
			return nil, guest.ErrNoJob
		}
		return j.view(ctx, &q.View), nil
	case *guest.Signal:
		j := f.job(m, q.ID, func(j *fakeJob) { // nobody can start it any more
			j.state, j.cancel = guest.Signaled, func() {}
			close(j.done)
		})
		j.signal(q.Signal)
		return j.view(ctx, &guest.View{Wait: time.Second}), nil
	}
	return nil, guest.ErrNoShell
}

// job returns the job of that id, made by fresh if there is none.
func (f *fake) job(m *fakeMachine, id string, fresh func(*fakeJob)) *fakeJob {
	f.mu.Lock()
	j := m.jobs[id]
	isNew := j == nil && fresh != nil
	if isNew {
		j = &fakeJob{done: make(chan struct{}), state: guest.Running}
		m.jobs[id] = j
	}
	f.mu.Unlock()
	if isNew {
		fresh(j)
	}
	return j
}

func (f *fake) start(j *fakeJob, s *guest.Start) {
	ctx, cancel := context.WithCancel(context.Background())
	if s.Timeout > 0 {
		ctx, cancel = context.WithTimeout(context.Background(), s.Timeout)
	}
	j.mu.Lock()
	j.cancel = cancel
	j.mu.Unlock()
	go func() {
		end := f.run(ctx, s.Argv)
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.state == guest.Running {
			j.state, j.end = guest.Exited, end
			if ctx.Err() == context.DeadlineExceeded {
				j.state, j.end.code = guest.TimedOut, 137
			}
		}
		cancel()
		close(j.done)
	}()
}

func (j *fakeJob) signal(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state == guest.Running {
		j.state, j.end.code = guest.Signaled, 128+smol.Signal(name).Number()
		j.cancel()
	}
}

func (j *fakeJob) view(ctx context.Context, v *guest.View) *guest.Reply {
	t := time.NewTimer(v.Wait)
	defer t.Stop()
	select {
	case <-j.done:
	case <-ctx.Done():
	case <-t.C:
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r := &guest.Reply{State: j.state, Code: j.end.code, Started: time.Second, Ended: 3 * time.Second}
	select {
	case <-j.done:
	default:
		r.State = guest.Running
	}
	r.Cut([]byte(j.end.stdout), []byte(j.end.stderr), *v)
	return r
}
