package serve

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// spawn starts the program. Nothing holds it back here: between the start and the record lies a moment in which this program must not die.
func spawn(c *command) (*exec.Cmd, *os.File, error) {
	cmd := exec.Command(c.program, c.args...)
	c.apply(cmd)
	// A group of its own, so that a Ctrl-C for this program is not for the serve.
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	return cmd, nil, cmd.Start()
}

func open(*os.File) error { return nil }

// askToEnd sends what the serve takes for Ctrl-C. That needs a console which both share; without one, only killing is left.
func askToEnd(p *os.Process) error {
	if err := windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.Pid)); err != nil {
		return p.Kill()
	}
	return nil
}
