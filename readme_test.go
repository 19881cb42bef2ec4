package repo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeCodeIsCompiled wants every Go block of the README to stand, line for line, in a program or a godoc example, which is built and run.
func TestReadmeCodeIsCompiled(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var code []string
	for _, pattern := range []string{"examples/*/main.go", "examples/internal/*/*.go", "smol/example*_test.go", "smol/*/example*_test.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, p := range paths {
			data, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			code = append(code, string(data))
		}
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) == 0 {
		t.Fatal("the README has no Go block")
	}
	all := strings.Join(code, "\x00")
	for _, b := range blocks {
		if !strings.Contains(all, b[1]) {
			t.Errorf("this block of the README stands in no example:\n%s", b[1])
		}
	}
}

// TestReadmeNamesWhatThereIs wants every example and every make target that the README names to exist, and every example named.
func TestReadmeNamesWhatThereIs(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(data)
	if n := strings.Count(readme, "\n"); n > 200 {
		t.Errorf("the README has %d lines; the limit is 200", n)
	}
	paths, _ := filepath.Glob("examples/*/main.go")
	for _, p := range paths {
		if !strings.Contains(readme, "("+filepath.ToSlash(p)+")") {
			t.Errorf("the README does not link %s", p)
		}
	}
	for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(readme, -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("the README links %s: %v", m[1], err)
		}
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`?make ([a-z]+)").FindAllStringSubmatch(readme, -1) {
		if !strings.Contains(string(makefile), "\n"+m[1]+":") {
			t.Errorf("the README names make %s, which the Makefile does not have", m[1])
		}
	}
}
