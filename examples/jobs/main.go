// Jobs starts a command that outlives its program: one process starts it and is killed, another one reads on where that had stopped. You will
// see each line of the command once, and its exit code.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/smol-machines/smol-go/examples/internal/fleet"
	"github.com/smol-machines/smol-go/smol"
)

// What the program tells the processes that it makes of itself.
var (
	machine = flag.String("machine", "", "the `id` of the machine; set by the program itself")
	notes   = flag.String("notes", "", "the `file` that says how far the job was read; set by the program itself")
)

// note is all that one process has to leave to the next.
type note struct {
	Job  string
	From smol.JobOffset
}

func main() { fleet.Main(run) }

func run(ctx context.Context, f *smol.Fleet) (err error) {
	if *machine != "" {
		return client(ctx, f.Machine(*machine))
	}
	dir, err := os.MkdirTemp("", "jobs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m, err := f.Create(ctx, smol.Spec{Image: "alpine:3.20", Network: smol.Network{Open: true}}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Discard()) }()
	for range 2 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, self, "-fleet", flag.Lookup("fleet").Value.String(), "-machine", m.ID(), "-notes", filepath.Join(dir, "notes"))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Println("a process of ours was killed; the job goes on")
		}
	}
	return nil
}

// client is one of the processes.
func client(ctx context.Context, m *smol.Machine) error {
	var n note
	data, err := os.ReadFile(*notes)
	if errors.Is(err, os.ErrNotExist) {
		return begin(ctx, m)
	}
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err != nil {
		return err
	}
	if err := m.WriteFile(ctx, "/workspace/go", nil, nil); err != nil { // what the job waits for
		return err
	}
	job := m.Job(n.Job)
	for chunk, err := range job.Output(ctx, &smol.OutputOptions{From: n.From}) {
		if err != nil {
			return err
		}
		fmt.Printf("%s", chunk.Data)
	}
	state, err := job.Wait(ctx)
	if state == nil {
		return err
	}
	fmt.Printf("the job exited with %d\n", state.ExitCode)
	return nil
}

// begin starts the job, reads its first line, and is killed.
func begin(ctx context.Context, m *smol.Machine) error {
	job, err := m.Shell(`echo step 1; until [ -e /workspace/go ]; do sleep 0.1; done; echo step 2; echo step 3; exit 3`).StartJob(ctx, nil)
	if err != nil {
		return err
	}
	for chunk, err := range job.Output(ctx, nil) {
		if err != nil {
			return err
		}
		fmt.Printf("%s", chunk.Data)
		data, err := json.Marshal(note{job.ID(), chunk.Next})
		if err == nil {
			err = os.WriteFile(*notes, data, 0o600)
		}
		if err != nil {
			return err
		}
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill() // as kill -9 does
		}
		if err != nil {
			return err
		}
		<-ctx.Done()
	}
	return ctx.Err()
}
