package smol_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// exampleJob is a job of that command, which has ended.
func exampleJob(ctx context.Context, name string, arg ...string) (job *smol.Job, done func()) {
	m, done := exampleMachine(ctx)
	job, err := m.Command(name, arg...).StartJob(ctx, nil)
	if err == nil {
		_, err = job.Poll(ctx, &smol.PollOptions{Wait: time.Minute})
	}
	if err != nil {
		panic(err)
	}
	return job, done
}

// A job goes on when the program that started it does not. Its id and an offset are all that another one needs.
func ExampleJobOffset() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	job, err := m.Command("echo", "hello").StartJob(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	id := job.ID()
	stored, err := json.Marshal(smol.JobOffset{})
	fmt.Println(string(stored), err)
	// Later, in another program.
	var from smol.JobOffset
	if err := json.Unmarshal(stored, &from); err != nil {
		fmt.Println(err)
		return
	}
	part, err := m.Job(id).Poll(ctx, &smol.PollOptions{From: from, Wait: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(part.Stdout.String())
	// Output:
	// {"stdout":0,"stderr":0} <nil>
	// hello
}

func ExampleJobPart() {
	ctx := context.Background()
	job, done := exampleJob(ctx, "fail")
	defer done()

	part, err := job.Poll(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(part.State, " ", part.ExitCode, ": ", part.Stderr.String())
	fmt.Println(part.Next)
	// Output:
	// exited 3: no such luck
	// {0 13}
}

func ExampleJob() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	job, err := m.Command("echo", "hello").StartJob(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	state, err := m.Job(job.ID()).Wait(ctx)
	fmt.Println(state.ExitCode, err, job.Remove(ctx))
	// Output: 0 <nil> <nil>
}

// A command that is quick comes back whole with its start.
func ExampleJobOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	job, err := m.Command("echo", "quick").StartJob(ctx, &smol.JobOptions{Poll: &smol.PollOptions{Wait: time.Minute}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if first := job.First(); first.State == smol.JobExited {
		fmt.Print(first.Stdout.String())
	}
	// Output: quick
}

func ExampleJobState() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	c := m.Command("sleep", "1000")
	c.Timeout = 50 * time.Millisecond
	job, err := c.StartJob(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	part, err := job.Poll(ctx, &smol.PollOptions{Wait: time.Minute})
	fmt.Println(part.State == smol.JobTimedOut, part.ExitCode, err)
	// Output: true 124 <nil>
}

func ExamplePollOptions() {
	ctx := context.Background()
	job, done := exampleJob(ctx, "echo", strings.Repeat("x", 1000))
	defer done()

	part, err := job.Poll(ctx, &smol.PollOptions{From: smol.JobOffset{Stdout: 1}, Budget: smol.Budget{Bytes: 9}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(part.Stdout.String())
	// Output:
	// xxxxxx
	// ... 991 bytes left out ...
	// xx
}

func ExampleOutputOptions() {
	ctx := context.Background()
	job, done := exampleJob(ctx, "echo", "one line")
	defer done()

	for chunk, err := range job.Output(ctx, &smol.OutputOptions{From: smol.JobOffset{Stdout: 4}}) {
		fmt.Printf("%s: %q %v\n", chunk.Stream, chunk.Data, err)
	}
	// Output: stdout: "line\n" <nil>
}

func ExampleChunk() {
	ctx := context.Background()
	job, done := exampleJob(ctx, "fail")
	defer done()

	for chunk, err := range job.Output(ctx, nil) {
		fmt.Println(chunk.Stream, chunk.Next.Stderr, err) // Next is worth storing
	}
	state, err := job.Wait(ctx)
	fmt.Println(state.ExitCode, err)
	// Output:
	// stderr 13 <nil>
	// 3 exit status 3
}

// Of the output of a long job only the lines that matter cross the wire.
func ExampleGrepOptions() {
	ctx := context.Background()
	job, done := exampleJob(ctx, "echo", "ok: a\nFAIL: b\nok: c")
	defer done()

	found, err := job.Grep(ctx, "^fail", &smol.GrepOptions{IgnoreCase: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(found.Stdout.String())
	// Output: 2:FAIL: b
}

func ExampleGrepResult() {
	ctx := context.Background()
	job, done := exampleJob(ctx, "fail")
	defer done()

	found, err := job.Grep(ctx, "luck", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q %q\n", found.Stdout.String(), found.Stderr.String())
	// Output: "" "1:no such luck\n"
}

func ExampleJobInfo() {
	ctx := context.Background()
	job, done := exampleJob(ctx, "echo", "hello")
	defer done()

	for info, err := range job.Machine().Jobs(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(info.Command, info.State, info.ExitCode)
	}
	// Output: [echo hello] exited 0
}

func ExamplePruneOptions() {
	ctx := context.Background()
	job, done := exampleJob(ctx, "echo", "hello")
	defer done()

	n, err := job.Machine().PruneJobs(ctx, &smol.PruneOptions{Keep: -1, Age: -1})
	fmt.Println(n, err)
	// Output: 1 <nil>
}

func ExampleKillOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	job, err := m.Command("sleep", "1000").StartJob(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := job.Kill(ctx, &smol.KillOptions{Grace: time.Second}); err != nil {
		fmt.Println(err)
		return
	}
	part, err := job.Poll(ctx, nil)
	fmt.Println(part.State, part.Signal, err)
	// Output: signaled TERM <nil>
}

// A budget keeps both ends of an output that is too long.
func ExampleBudget() {
	text := []byte("first line\n" + strings.Repeat("more\n", 100) + "last line\n")
	fmt.Print(smol.Budget{Bytes: 30}.Clip(text).String())
	// Output:
	// first line
	// more
	// more
	// ... 491 bytes left out ...
	// last line
}

func ExampleExcerpt() {
	e := smol.Budget{Bytes: 6, StripANSI: true}.Clip([]byte("äöüäöü"))
	fmt.Printf("%s %s %d of %d\n", e.Head, e.Tail, e.Dropped, e.Size)
	// Output: äö ü 6 of 12
}
