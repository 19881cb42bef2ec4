package mcpserver

import (
	"net/url"
	"path"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/smol"
)

// commandResult is what a command has done, or is doing.
type commandResult struct {
	Stdout         string           `json:"stdout"`
	Stderr         string           `json:"stderr"`
	ExitCode       *int             `json:"exitCode"`
	Truncated      bool             `json:"truncated"`
	TimedOut       bool             `json:"timedOut"`
	Overflow       []overflowResult `json:"overflow"`
	StartedMachine bool             `json:"startedMachine"`
	Running        bool             `json:"running"`
	Job            *string          `json:"job"`
	StdoutOffset   int64            `json:"stdoutOffset"`
	StderrOffset   int64            `json:"stderrOffset"`
	DurationMS     int64            `json:"durationMs"`
	Hint           string           `json:"hint"`

	machine string
}

type overflowResult struct {
	Stream string `json:"stream"`
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
}

// resultOf returns what is told of a job after a poll.
func resultOf(m *smol.Machine, id string, p *smol.JobPart) *commandResult {
	res := &commandResult{
		Stdout: p.Stdout.String(), Stderr: p.Stderr.String(), Overflow: []overflowResult{}, Job: &id, machine: m.Name(),
		Running: p.State == smol.JobRunning, TimedOut: p.State == smol.JobTimedOut, StartedMachine: m.Booted(),
		StdoutOffset: p.Next.Stdout, StderrOffset: p.Next.Stderr, DurationMS: p.Duration.Milliseconds(), Hint: p.Hint,
	}
	if p.State != smol.JobRunning && p.State != smol.JobLost {
		res.ExitCode = &p.ExitCode
	}
	res.overflow("stdout", &p.Stdout)
	res.overflow("stderr", &p.Stderr)
	return res
}

// overflow names the file of a stream of which something was left out.
func (r *commandResult) overflow(stream string, e *smol.Excerpt) {
	if e.Dropped == 0 {
		return
	}
	r.Truncated = true
	if e.Path != "" {
		r.Overflow = append(r.Overflow, overflowResult{Stream: stream, Path: e.Path, Bytes: e.Size})
	}
}

// plainResult returns what is told of a command that could not be a job.
func plainResult(m *smol.Machine, state *smol.CmdState, stdout, stderr *smol.Excerpt) *commandResult {
	res := &commandResult{
		Stdout: stdout.String(), Stderr: stderr.String(), Overflow: []overflowResult{}, machine: m.Name(), StartedMachine: m.Booted(),
		StdoutOffset: stdout.Size, StderrOffset: stderr.Size,
	}
	if state != nil {
		res.ExitCode, res.TimedOut, res.DurationMS = &state.ExitCode, state.TimedOut, state.Duration.Milliseconds()
	}
	res.overflow("stdout", stdout)
	res.overflow("stderr", stderr)
	return res
}

// links names the files of overflow as resources.
func (r *commandResult) links(c *call) []*mcp.ResourceLink {
	var out []*mcp.ResourceLink
	for _, o := range r.Overflow {
		size := o.Bytes
		out = append(out, &mcp.ResourceLink{
			URI: fileURI(c.target, r.machine, o.Path), Name: o.Stream, MIMEType: "application/octet-stream", Size: &size,
			Description: "the whole " + o.Stream + " of the command",
		})
	}
	return out
}

// fileURI returns the resource that a file of a machine is.
func fileURI(t Target, machine, file string) string {
	u := url.URL{Scheme: "smol", Host: "machine", Path: path.Join("/", string(t), machine, "file", file)}
	return u.String()
}

// budget is how much output a result holds.
func (c *call) budget() smol.Budget { return smol.Budget{Bytes: c.config().MaxOutputBytes} }

// waitOf returns how long a call waits for its command.
func waitOf(secs int) time.Duration { return time.Duration(secs) * time.Second }
