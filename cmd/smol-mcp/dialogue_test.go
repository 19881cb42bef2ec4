package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/smol-machines/smol-go/smol/smoltest"
)

// canary is a token that must not be seen anywhere but on its way to the cloud.
const canary = "smk_canary_5c1e9d7f"

// TestDialogues speaks the dialogues of testdata with the program, with the log at its most talkative. A line "> " is sent and a line "< "
// must come next: of an object the members that are named must be there, and "..." stands for any value, and in a text for any part of
// it. "> EOF" ends the input and "< EOF" is the end of the program, without an error.
func TestDialogues(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dialogues: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			speak(t, strings.Fields(parts["env"]), parts["dialogue"])
		})
	}
}

// guests answer echo.
func guests() smoltest.Guest {
	return smoltest.Script(func(_ context.Context, c *smoltest.Call) int {
		text, ok := strings.CutPrefix(c.Argv[len(c.Argv)-1], "echo ")
		if !ok {
			return smoltest.NotFound
		}
		fmt.Fprintln(c.Stdout, text)
		return 0
	})
}

// environment is that of a program beside both fleets.
func environment(t *testing.T) []string {
	t.Helper()
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: guests()})
	c := smoltest.NewCloud(t, &smoltest.CloudOptions{Guest: guests(), Token: canary})
	return []string{
		"PATH=/nowhere", "HOME=" + t.TempDir(), "SMOL_MCP_RUNTIME_DIR=" + runDir(t), "SMOL_MCP_NETWORK_DEFAULT=open",
		"SMOL_LOCAL_URL=" + l.URL(), "SMOL_CLOUD_URL=" + c.URL(), "SMOL_CLOUD_TOKEN=" + canary, "SMOL_MCP_AUTH_TOKEN=" + canary,
	}
}

func speak(t *testing.T, env []string, dialogue string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t, "smol-mcp"), "--log-level=debug")
	cmd.Env = append(environment(t), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	out := bufio.NewReader(stdout)
	var heard strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(dialogue), "\n") {
		kind, text, _ := strings.Cut(line, " ")
		switch {
		case line == "> EOF":
			err = in.Close()
		case line == "< EOF":
			var rest []byte
			if rest, err = io.ReadAll(out); len(rest) > 0 {
				t.Errorf("after the end: %s", rest)
			}
		case kind == ">":
			_, err = io.WriteString(in, text+"\n")
		case kind == "<":
			var got string
			got, err = out.ReadString('\n')
			heard.WriteString(got)
			if problem := differs(text, got); err == nil && problem != "" {
				t.Errorf("line %d: %s\nwant %s\ngot  %.1500s", i+1, problem, text, got)
			}
		}
		if err != nil {
			t.Fatalf("line %d: %v\n%s", i+1, err, stderr.String())
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	if !strings.Contains(stderr.String(), `"DEBUG"`) {
		t.Error("the log is not at its most talkative")
	}
	if strings.Contains(heard.String()+stderr.String(), canary) {
		t.Errorf("the token is in\n%s\n%s", heard.String(), stderr.String())
	}
}

// differs says how a message differs from what is wanted.
func differs(want, got string) string {
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return "the dialogue is wrong: " + err.Error()
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		return "no message: " + err.Error()
	}
	return unlike("", w, g)
}

func unlike(at string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return at + " is no object"
		}
		for k, v := range w {
			if _, ok := g[k]; !ok {
				return at + "." + k + " is missing"
			}
			if problem := unlike(at+"."+k, v, g[k]); problem != "" {
				return problem
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is no list of %d", at, len(w))
		}
		for i := range w {
			if problem := unlike(fmt.Sprintf("%s[%d]", at, i), w[i], g[i]); problem != "" {
				return problem
			}
		}
		return ""
	case string:
		pattern := "^(?s)" + strings.ReplaceAll(regexp.QuoteMeta(w), `\.\.\.`, ".*") + "$"
		if g, isText := got.(string); w == "..." || isText && regexp.MustCompile(pattern).MatchString(g) {
			return ""
		}
	}
	if want != got {
		return fmt.Sprintf("%s is %v", at, got)
	}
	return ""
}
