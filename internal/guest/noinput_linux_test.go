package guest_test

import (
	"fmt"
	"io"
	"os/exec"
	"testing"

	"github.com/smol-machines/smol-go/internal/guest"
)

// TestNoInputEnds leaves the input of the shell open and wants cat to end all the same, with its own process and exit code.
func TestNoInputEnds(t *testing.T) {
	argv := guest.NoInput([]string{"sh", "-c", `cat; echo "$1" $$; exit 7`, "sh", "a b"})
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	stdin, err := cmd.StdinPipe() // stays open
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its error is the exit code
	if want := fmt.Sprintf("a b %d\n", cmd.Process.Pid); string(text) != want || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("%q, exit %d; want %q, exit 7", text, cmd.ProcessState.ExitCode(), want)
	}
}
