package cloudwire

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ExecResult is how a command ended.
type ExecResult struct {
	// Stdout and Stderr are its output as lossy text, of which the service keeps the first MiB each.
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	// StdoutTruncated and StderrTruncated report whether the text is not all; older servers leave them out.
	StdoutTruncated bool `json:"stdoutTruncated,omitempty"`
	StderrTruncated bool `json:"stderrTruncated,omitempty"`
	// StdoutB64 and StderrB64 are all its output in standard base64. Nil: an old server. Empty beside a text that is not: only text was
	// asked for.
	StdoutB64 *string `json:"stdoutB64,omitempty"`
	StderrB64 *string `json:"stderrB64,omitempty"`
	// ExitCode is the code, 124 for a time-out. Nil: the reply has none, which is no success.
	ExitCode *int32 `json:"exitCode,omitempty"`
	// DurationMs is how long it took in milliseconds.
	DurationMs int64 `json:"durationMs"`
	// MachineID is the machine.
	MachineID string `json:"machineId"`
	// User repeats the user of the request; "" when it had none or the server does not know the field.
	User string `json:"user,omitempty"`
}

// ExitEvent is the data of the event exit, which ends a stream.
type ExitEvent struct {
	// ExitCode is the code. Nil: the event has none, which is no success.
	ExitCode *int32 `json:"exitCode,omitempty"`
}

// Output returns what the command wrote to its output. Exact is false when that may not be every byte: when the reply has only the text,
// and it is cut or has replaced what is not UTF-8. It is an error if the reply's base64 is none.
func (r *ExecResult) Output() (out []byte, exact bool, err error) {
	return bytesOf("stdoutB64", r.Stdout, r.StdoutB64, r.StdoutTruncated)
}

// ErrorOutput is [ExecResult.Output] for what the command wrote to its error output.
func (r *ExecResult) ErrorOutput() (out []byte, exact bool, err error) {
	return bytesOf("stderrB64", r.Stderr, r.StderrB64, r.StderrTruncated)
}

func bytesOf(field, text string, b64 *string, truncated bool) (out []byte, exact bool, err error) {
	if b64 == nil || *b64 == "" && text != "" {
		return []byte(text), !truncated && !strings.ContainsRune(text, utf8.RuneError), nil
	}
	if out, err = base64.StdEncoding.DecodeString(*b64); err != nil {
		return nil, false, fmt.Errorf("%s is not base64: %w", field, err)
	}
	return out, true, nil
}
