//go:build linux || darwin

package serve

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// gate waits for a word on descriptor 3, and becomes the program then. When who started it dies before, the descriptor ends and so does the shell:
// the program has never run.
const gate = `read -r go <&3 && exec "$0" "$@" 3<&-`

// spawn starts the program and holds it back until open is called. Closing w without that ends it.
func spawn(c *command) (cmd *exec.Cmd, w *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = r.Close() }()
	cmd = exec.Command("/bin/sh", append([]string{"-c", gate, c.program}, c.args...)...)
	cmd.ExtraFiles = []*os.File{r}
	c.apply(cmd)
	// A session of its own: what is typed at this program's terminal is not for the serve, and the machines live in its group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, nil, errors.Join(err, w.Close())
	}
	return cmd, w, nil
}

// open lets the program begin.
func open(w *os.File) error {
	_, err := w.WriteString("go\n")
	return errors.Join(err, w.Close())
}

func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
