package smoltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/randhex"
	"github.com/smol-machines/smol-go/smol"
)

// jobRows are about commands that outlive whoever started them.
var jobRows = []row{
	{"job/whole in one answer", testJobQuick},
	{"job/found and read on by another", testJobOffsets},
	{"job/budget", testJobBudget},
	{"job/ends", testJobEnds},
	{"job/listed, searched, removed", testJobList},
	{"job/lost", testJobLost},
	{"job/answer to the start lost", testJobStartLost},
	{"job/on the wire: answer to the start lost", testJobWire},
}

// job starts a program of the suite as a job.
func (r *rowTest) job(m *smol.Machine, script string, args ...string) *smol.Job {
	r.Helper()
	job, err := program(m, script, args...).StartJob(r.ctx, nil)
	if err != nil {
		r.Fatalf("start of a job: %v", err)
	}
	return job
}

// poll polls a job.
func (r *rowTest) poll(j *smol.Job, o *smol.PollOptions) *smol.JobPart {
	r.Helper()
	part, err := j.Poll(r.ctx, o)
	if err != nil {
		r.Fatalf("poll: %v", err)
	}
	return part
}

// wantJob fails unless the job is in that state, with that exit code.
func (r *rowTest) wantJob(what string, p *smol.JobPart, state smol.JobState, code int) {
	r.Helper()
	if p.State != state || p.ExitCode != code {
		r.Errorf("%s: %s with %d, want %s with %d; it wrote %.100q", what, p.State, p.ExitCode, state, code, p.Stderr.String())
	}
}

// toTheEnd are options that wait for the end of a job.
var toTheEnd = &smol.PollOptions{Wait: time.Minute}

func testJobQuick(r *rowTest) {
	m := r.machine()
	hard := hardBytes()
	for code, args := range map[int][]string{0: {shPrint, octal(hard), octal([]byte("err\r\n"))}, 7: {shExit, "7"}, 255: {shExit, "255"}} {
		job, err := program(m, args[0], args[1:]...).StartJob(r.ctx, &smol.JobOptions{Poll: toTheEnd})
		if err != nil {
			r.Fatalf("start: %v", err)
		}
		p := job.First()
		r.wantJob("a short job", p, smol.JobExited, code)
		if code == 0 {
			r.same("stdout", p.Stdout.Head, hard)
			r.same("stderr", p.Stderr.Head, []byte("err\r\n"))
		}
		state, err := job.Wait(r.ctx)
		if code == 0 && err != nil || code != 0 && r.wantExit("wait", err, code) == nil || state == nil || state.ExitCode != code {
			r.Errorf("wait: %+v, %v", state, err)
		}
	}
}

func testJobOffsets(r *rowTest) {
	m := r.machine()
	job := r.job(m, shUntil, "/workspace/go")
	first := r.poll(job, &smol.PollOptions{Wait: time.Minute, News: true})
	r.wantJob("after its first line", first, smol.JobRunning, -1)
	r.same("the first line", first.Stdout.Head, []byte("started\n"))
	stored, err := json.Marshal(first.Next)
	var next smol.JobOffset
	if err == nil {
		err = json.Unmarshal(stored, &next)
	}
	if err != nil {
		r.Fatalf("offset: %v", err)
	}
	again := smol.NewFleet(r.backend).Machine(m.Name()).Job(job.ID())
	if p := r.poll(again, &smol.PollOptions{From: next}); p.State != smol.JobRunning || p.Next != next {
		r.Errorf("without news: %+v", p)
	}
	r.write(m, "/workspace/go", nil)
	p := r.poll(again, &smol.PollOptions{From: next, Wait: time.Minute})
	r.wantJob("at its end", p, smol.JobExited, 0)
	r.same("the rest", p.Stdout.Head, []byte("last\n"))
	r.wantJob("asked as before", r.poll(again, &smol.PollOptions{From: next}), smol.JobExited, 0)
	for from, want := range map[int64]string{0: "started\nlast\n", next.Stdout: "last\n", p.Next.Stdout: ""} {
		var got bytes.Buffer
		for chunk, err := range again.Output(r.ctx, &smol.OutputOptions{From: smol.JobOffset{Stdout: from}}) {
			if err != nil || chunk.Stream != "stdout" || chunk.Next.Stdout != from+int64(got.Len()+len(chunk.Data)) {
				r.Fatalf("output: %+v, %v", chunk, err)
			}
			got.Write(chunk.Data)
		}
		r.same("output", got.Bytes(), []byte(want))
	}
}

func testJobBudget(r *rowTest) {
	m := r.machine()
	job := r.job(m, shSeq, "300000")
	whole := seq(300_000)
	p := r.poll(job, &smol.PollOptions{Wait: time.Minute, Budget: smol.Budget{Bytes: 3000}})
	r.wantJob("a long output", p, smol.JobExited, 0)
	e := &p.Stdout
	r.same("its first part", e.Head, whole[:2000])
	r.same("its last part", e.Tail, whole[len(whole)-1000:])
	if size := int64(len(whole)); e.Size != size || e.Next != size || e.Dropped != size-3000 {
		r.Errorf("of %d bytes: size %d, next %d, dropped %d", size, e.Size, e.Next, e.Dropped)
	}
	r.wantFile(m, e.Path, whole)
	var got bytes.Buffer
	for chunk, err := range job.Output(r.ctx, nil) {
		if err != nil {
			r.Fatalf("output: %v", err)
		}
		got.Write(chunk.Data)
	}
	r.same("the whole output", got.Bytes(), whole)
}

func testJobEnds(r *rowTest) {
	m := r.machine()
	pid := "/tmp/pid-" + randhex.String(8)
	job := r.job(m, shHang, pid)
	r.poll(job, &smol.PollOptions{Wait: time.Minute, News: true})
	if err := job.Kill(r.ctx, nil); err != nil {
		r.Errorf("kill: %v", err)
	}
	p := r.poll(job, nil)
	r.wantJob("killed", p, smol.JobSignaled, 143)
	if p.Signal != smol.Terminate {
		r.Errorf("killed by %q, want TERM", p.Signal)
	}
	r.wantDead(m, pid)
	if err := job.Kill(r.ctx, nil); err != nil {
		r.Errorf("kill again: %v", err)
	}
	r.want("signal to a job that has ended", job.Signal(r.ctx, smol.Interrupt), smol.ErrConflict)
	p = r.poll(r.job(m, shExit, "143"), toTheEnd)
	r.wantJob("exit with 143", p, smol.JobExited, 143)
	if p.Signal != "" || p.Hint == "" {
		r.Errorf("exit with 143 is told as %q, with the hint %q", p.Signal, p.Hint)
	}
	pid = "/tmp/pid-" + randhex.String(8)
	c := program(m, shHang, pid)
	c.Timeout = 200 * time.Millisecond
	late, err := c.StartJob(r.ctx, nil)
	if err != nil {
		r.Fatalf("start: %v", err)
	}
	p = r.poll(late, toTheEnd)
	r.wantJob("out of time", p, smol.JobTimedOut, 124)
	r.same("what it wrote", p.Stdout.Head, []byte("started\n"))
	r.wantDead(m, pid)
}

func testJobList(r *rowTest) {
	m := r.machine()
	if _, err := m.Job("job-20200101-000000-abcdef").Poll(r.ctx, nil); !errors.Is(err, smol.ErrNotFound) {
		r.Errorf("poll of no job: %v", err)
	}
	ended, runs := r.job(m, shSeq, "1000"), r.job(m, shHang, "/tmp/pid-"+randhex.String(8))
	r.poll(ended, toTheEnd)
	got := map[string]*smol.JobInfo{}
	for info, err := range m.Jobs(r.ctx) {
		if err != nil {
			r.Fatalf("jobs: %v", err)
		}
		got[info.ID] = info
	}
	a, b := got[ended.ID()], got[runs.ID()]
	if len(got) != 2 || a == nil || b == nil || a.State != smol.JobExited || b.State != smol.JobRunning || len(a.Command) != 5 || a.Command[4] != "1000" {
		r.Errorf("jobs: %d, %+v, %+v", len(got), a, b)
	}
	found, err := ended.Grep(r.ctx, "^99[89]$", nil)
	if err != nil || found.Stdout.String() != "998:998\n999:999\n" {
		r.Errorf("grep: %+v, %v", found, err)
	}
	r.want("removal of a job that runs", runs.Remove(r.ctx), smol.ErrConflict)
	if err := ended.Remove(r.ctx); err != nil {
		r.Errorf("remove: %v", err)
	}
	_, err = ended.Poll(r.ctx, nil)
	r.want("poll of a job that was removed", err, smol.ErrNotFound)
	if err := runs.Kill(r.ctx, &smol.KillOptions{Grace: -1}); err != nil {
		r.Errorf("kill: %v", err)
	}
	if n, err := m.PruneJobs(r.ctx, &smol.PruneOptions{Keep: -1, Age: -1}); err != nil || n != 1 {
		r.Errorf("pruned %d, %v; want 1", n, err)
	}
}

// testJobLost: a job whose files are gone, or whose machine was stopped under it, is neither running nor a success.
func testJobLost(r *rowTest) {
	m := r.machine()
	job := r.job(m, shHang, "/tmp/pid-"+randhex.String(8))
	p := r.poll(job, &smol.PollOptions{Wait: time.Minute, News: true})
	dir := p.Stdout.Path[:strings.LastIndex(p.Stdout.Path, "/")]
	if err := m.Remove(r.ctx, dir, &smol.RemoveOptions{Recursive: true}); err != nil {
		r.Fatalf("remove %s: %v", dir, err)
	}
	r.wantJob("without its files", r.poll(job, nil), smol.JobLost, -1)
	r.wantJob("without its files, for another", r.poll(m.Job(job.ID()), nil), smol.JobLost, -1)
	dies, ended := r.job(m, shHang, "/tmp/pid-"+randhex.String(8)), r.job(m, shExit, "3")
	r.poll(ended, toTheEnd)
	if err := m.Stop(r.ctx, nil); err != nil {
		r.Fatalf("stop: %v", err)
	}
	_, err := dies.Poll(r.ctx, nil)
	r.want("poll in a machine that is stopped", err, smol.ErrConflict)
	if err := m.Start(r.ctx, nil); err != nil {
		r.Fatalf("start: %v", err)
	}
	if err := m.WaitReady(r.ctx, nil); err != nil {
		r.Fatalf("ready: %v", err)
	}
	r.wantJob("after a restart", r.poll(dies, toTheEnd), smol.JobLost, -1)
	state, err := dies.Wait(r.ctx)
	r.want("wait for a job that is lost", err, smol.ErrUnavailable)
	if state != nil {
		r.Errorf("a job that is lost has ended: %+v", state)
	}
	r.wantJob("ended before the restart", r.poll(ended, nil), smol.JobExited, 3)
}

func testJobStartLost(r *rowTest) {
	m := r.machine()
	for i, file := range []string{"/workspace/first", "/workspace/second"} {
		lost := 0
		fleet := r.between(func(b *bent) {
			b.exec = func(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
				if lost++; lost > 1 {
					return b.Backend.Exec(ctx, id, req)
				}
				if i == 0 { // the request, and else the answer
					return nil, errLost()
				}
				if _, err := b.Backend.Exec(ctx, id, req); err != nil {
					return nil, err
				}
				return nil, errLost()
			}
		})
		job, err := program(fleet.Machine(m.ID()), shAppend, file).StartJob(r.ctx, nil)
		if err != nil {
			r.Fatalf("start: %v", err)
		}
		r.wantJob("found", r.poll(m.Job(job.ID()), toTheEnd), smol.JobExited, 0)
		r.wantFile(m, file, []byte("x\n"))
	}
}

func testJobWire(r *rowTest) {
	m := r.machine()
	for i, f := range []Fault{
		{Action: LoseReply}, {Action: Cut, After: 20}, {Action: Fail, Status: 408}, {Action: Fail, Status: 408, Work: true}, {Action: Restart, Work: true},
	} {
		f.Method, f.Path, f.Nth = "POST", r.route()+"/*/exec", 1
		armed := r.o.Fault(f)
		file := "/workspace/ran-" + string(rune('a'+i))
		job, err := program(m, shAppend, file).StartJob(r.ctx, &smol.JobOptions{Poll: toTheEnd})
		if err != nil || armed.Fired() != 1 {
			r.Fatalf("start with %v: %v, after %d faults", f.Action, err, armed.Fired())
		}
		r.wantJob("found", job.First(), smol.JobExited, 0)
		r.wantFile(m, file, []byte("x\n"))
	}
}
