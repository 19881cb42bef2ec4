package guest_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/simtest"
)

// traced runs a command to the end of everything that it starts, and counts: the command lines of the programs started, the first of
// them its own, and the processes made.
func traced(c *exec.Cmd) (programs []string, forks int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.SysProcAttr = &unix.SysProcAttr{Ptrace: true, Setsid: true}
	if err := c.Start(); err != nil {
		return nil, 0, err
	}
	const options = unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE |
		unix.PTRACE_O_EXITKILL
	known := map[int]bool{}
	for {
		var status unix.WaitStatus
		// Of this thread only: other tests have children too.
		pid, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			_ = c.Wait() // it has been waited for already; this collects its output
			return programs, forks, nil
		case err != nil:
			return nil, 0, err
		case !status.Stopped():
			continue
		}
		deliver := 0
		event := status.TrapCause()
		switch {
		case !known[pid]:
			known[pid] = true
			if len(known) == 1 {
				programs = append(programs, commandLine(pid))
				if err := unix.PtraceSetOptions(pid, options); err != nil {
					return nil, 0, err
				}
			}
		case event == unix.PTRACE_EVENT_EXEC:
			programs = append(programs, commandLine(pid))
		case event > 0:
			forks++
		case status.StopSignal() != unix.SIGTRAP:
			deliver = int(status.StopSignal())
		}
		if err := unix.PtraceCont(pid, deliver); err != nil && !errors.Is(err, unix.ESRCH) {
			return nil, 0, err
		}
	}
}

func commandLine(pid int) string {
	data, _ := os.ReadFile(filepath.Join("/proc", itoa(pid), "cmdline"))
	return string(bytes.ReplaceAll(data, []byte{0}, []byte{' '}))
}

// maxPrograms is how many programs a short command may cost, the shell of the exec and the command included.
const maxPrograms = 8

func TestProgramStarts(t *testing.T) {
	simtest.Sandbox(t) // where no machine can be made, nothing can be traced either
	for _, tools := range allFileTools(t) {
		t.Run(tools.name, func(t *testing.T) {
			base := t.TempDir() + "/base"
			for i, row := range []struct {
				argv    []string
				timeout time.Duration
				news    bool
			}{
				{argv: []string{"true"}},
				{argv: []string{"echo", "out"}},
				{argv: []string{"sh", "-c", "echo out; echo err >&2"}},
				{argv: []string{"sh", "-c", "echo err >&2"}, timeout: time.Hour},
				{argv: []string{"sh", "-c", "echo out; echo err >&2"}, timeout: time.Hour, news: true},
			} {
				s := &guest.Start{
					ID: "job-" + itoa(i), Bases: []string{base}, Argv: row.argv, Env: []string{"A=1", "PATH=" + tools.path}, Timeout: row.timeout,
					View: guest.View{Wait: patience, News: row.news, Budget: 1 << 20},
				}
				argv, _, err := s.Command()
				if err != nil {
					t.Fatal(err)
				}
				var stdout bytes.Buffer
				c := exec.Command(filepath.Join(filepath.SplitList(tools.path)[0], "sh"))
				c.Args, c.Env, c.Stdout = argv, []string{"PATH=" + tools.path}, &stdout
				programs, forks, err := traced(c)
				if err != nil {
					t.Fatal(err)
				}
				if r, err := guest.ParseReply(stdout.Bytes(), s.View); err != nil || r.State != guest.Exited {
					t.Fatalf("%+v, %v", r, err)
				}
				if i == 0 { // it makes the base
					continue
				}
				if len(programs) > maxPrograms || len(programs) < 5 {
					t.Errorf("%q: %d programs: %.60q", row.argv, len(programs), programs)
				}
				t.Logf("%s: %d programs, %d processes", strings.Join(row.argv, " "), len(programs), forks+1)
			}
		})
	}
}
