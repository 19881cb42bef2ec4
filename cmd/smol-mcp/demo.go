package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// serveDemo does a whole job as a client of a server of its own, over pipes, and says what each call did and how long it took.
func serveDemo(ctx context.Context, p *program, o *options) (err error) {
	d := &demo{out: p.stdout, begin: time.Now()}
	stop, err := d.start(ctx, p, o)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, stop()); err == nil {
			d.say("", "counted %d primes below %d, %d lines of a job in the background and %d bytes of its report, in %d calls",
				d.primes, primesBelow, d.lines, d.report, d.calls)
		}
	}()
	return d.job(ctx)
}

// demo is the job and what it counts.
type demo struct {
	client
	out   io.Writer
	begin time.Time

	machine               string
	primes, lines, report int
}

// say prints a line with the time since the beginning.
func (d *demo) say(call, format string, args ...any) {
	if call != "" {
		call = fmt.Sprintf("%-16s ", call)
	}
	fmt.Fprintf(d.out, "%6.2fs  %s%s\n", time.Since(d.begin).Seconds(), call, fmt.Sprintf(format, args...))
}

const (
	demoImage   = "alpine:3.20"
	primesBelow = 10_000
	// primesProgram prints primes; that they are right is known to whoever counts them.
	primesProgram = `BEGIN {
	for (i = 2; i < max; i++) {
		if (composite[i]) continue
		print i
		for (j = i * i; j < max; j += i) composite[j] = 1
	}
}
`
	// slowProgram takes its time, and keeps a report.
	slowProgram = `for i in 1 2 3; do echo "step $i"; echo "step $i is done" >>/workspace/report.txt; sleep 1; done`
	slowLines   = 3
)

// job borrows a machine, works in it and gives it back; it is given back also when something went wrong.
func (d *demo) job(ctx context.Context) (err error) {
	made, err := d.call(ctx, "create-machine", args{"image": demoImage, "network": "open", "branchable": true})
	if err != nil {
		return err
	}
	d.machine = made.Machine.Name
	d.say("create-machine", "%s of %s runs commands", d.machine, demoImage)
	defer d.remove(ctx, d.machine, &err)
	for _, step := range []func(context.Context) error{d.count, d.background, d.branch} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// count puts a program into the machine, runs it and counts what it prints.
func (d *demo) count(ctx context.Context) error {
	const path = "/workspace/primes.awk"
	put, err := d.call(ctx, "write-file", args{"name": d.machine, "path": path, "content": primesProgram})
	if err != nil {
		return err
	}
	d.say("write-file", "%s, %d bytes", path, put.Size)
	ran, err := d.call(ctx, "run-command", args{"name": d.machine, "command": []string{"awk", "-v", fmt.Sprintf("max=%d", primesBelow), "-f", path}})
	if err != nil {
		return err
	}
	if ran.ExitCode == nil || *ran.ExitCode != 0 {
		return fmt.Errorf("awk failed: %s", ran.Stderr)
	}
	d.primes = strings.Count(ran.Stdout, "\n")
	d.say("run-command", "awk printed %d primes below %d in %d ms", d.primes, primesBelow, ran.DurationMS)
	if want := countPrimes(primesBelow); d.primes != want {
		return fmt.Errorf("awk printed %d primes below %d; there are %d", d.primes, primesBelow, want)
	}
	return nil
}

// countPrimes counts in another way what the program in the machine counts.
func countPrimes(below int) int {
	n := 0
	for i := 2; i < below; i++ {
		prime := true
		for j := 2; j*j <= i && prime; j++ {
			prime = i%j != 0
		}
		if prime {
			n++
		}
	}
	return n
}

// branch copies the running machine, which may stand still from then on, and finds the work of the original in the copy.
func (d *demo) branch(ctx context.Context) (err error) {
	twig := d.machine + "-twig"
	_, err = d.call(ctx, "branch-machine", args{"name": d.machine, "childName": twig})
	if failed := (*toolError)(nil); errors.As(err, &failed) && failed.code() == "UNSUPPORTED" {
		d.say("branch-machine", "not here: %s", failed.text)
		return nil
	}
	if err != nil {
		return err
	}
	d.say("branch-machine", "%s is a copy of the running machine", twig)
	defer d.remove(ctx, twig, &err)
	ran, err := d.call(ctx, "run-command", args{"name": twig, "command": "wc -c </workspace/report.txt"})
	if err != nil {
		return err
	}
	if got := strings.TrimSpace(ran.Stdout); got != strconv.Itoa(d.report) {
		return fmt.Errorf("the report has %q bytes in the copy, not %d", got, d.report)
	}
	d.say("run-command", "the report is in the copy, too")
	return nil
}

// remove deletes a machine, also after an interrupt, and adds to err what that says.
func (d *demo) remove(ctx context.Context, machine string, err *error) {
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), endBound)
	defer cancel()
	_, e := d.call(bound, "delete-machine", args{"name": machine})
	if e == nil {
		d.say("delete-machine", "%s is gone", machine)
	}
	*err = errors.Join(*err, e)
}

// background leaves a job running, collects its output bit by bit and reads what it wrote into a file.
func (d *demo) background(ctx context.Context) error {
	part, err := d.call(ctx, "run-command", args{"name": d.machine, "command": slowProgram, "waitSecs": 0})
	if err != nil {
		return err
	}
	if !part.Running || part.Job == "" {
		return errors.New("the job in the background did not run on")
	}
	job, output := part.Job, part.Stdout
	d.say("run-command", "%s runs in the background", job)
	for part.Running {
		part, err = d.call(ctx, "poll-command", args{
			"name": d.machine, "job": job, "stdoutOffset": part.StdoutOffset, "stderrOffset": part.StderrOffset, "waitSecs": 2,
		})
		if err != nil {
			return err
		}
		output += part.Stdout
		d.say("poll-command", "%d new bytes, running: %t", len(part.Stdout), part.Running)
	}
	if d.lines = strings.Count(output, "step "); d.lines != slowLines {
		return fmt.Errorf("the job printed %d lines, not %d: %q", d.lines, slowLines, output)
	}
	read, err := d.call(ctx, "read-file", args{"name": d.machine, "path": "/workspace/report.txt"})
	if err != nil {
		return err
	}
	d.report = len(read.Content)
	d.say("read-file", "/workspace/report.txt, %d bytes", d.report)
	if n := strings.Count(read.Content, " is done\n"); n != slowLines {
		return fmt.Errorf("the report tells of %d steps, not %d", n, slowLines)
	}
	return nil
}
