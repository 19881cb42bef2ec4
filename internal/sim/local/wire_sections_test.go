package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWireSections holds that every section of the contract has a transcript or a reason for having none, and not both.
func TestWireSections(t *testing.T) {
	facts, err := wireFacts(wireDir)
	if err != nil {
		t.Fatal(err)
	}
	titles, order := wireList(t, "sections.txt")
	reasons, _ := wireList(t, "without.txt")
	count := map[string]int{}
	for _, f := range facts {
		section, slug, _ := strings.Cut(f.name, "-")
		if titles[section] == "" || slug == "" {
			t.Errorf("%s.txtar: its name does not begin with a section and a hyphen", f.name)
		}
		if !strings.Contains(f.comment, "§"+section) {
			t.Errorf("%s.txtar: its comment does not name §%s", f.name, section)
		}
		if len(f.steps) == 0 {
			t.Errorf("%s.txtar is empty", f.name)
		}
		count[section]++
	}
	for _, s := range order {
		reason := reasons[s]
		switch {
		case count[s] == 0 && reason == "":
			t.Errorf("§%s %s: has neither a transcript nor a reason in without.txt", s, titles[s])
		case count[s] > 0 && reason != "":
			t.Errorf("§%s %s: has %d transcripts and a reason for having none", s, titles[s], count[s])
		case reason != "":
			t.Logf("§%s %s: no transcript: %s", s, titles[s], reason)
		default:
			t.Logf("§%s %s: %d transcripts", s, titles[s], count[s])
		}
	}
	for s := range reasons {
		if titles[s] == "" {
			t.Errorf("without.txt: there is no section %s", s)
		}
	}
}

// wireList reads lines of a number and a text.
func wireList(t *testing.T, name string) (map[string]string, []string) {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(wireDir, name))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	var order []string
	for line := range strings.Lines(string(src)) {
		number, text, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || number == "#" {
			continue
		}
		if texts[number] != "" {
			t.Errorf("%s: %s comes twice", name, number)
		}
		texts[number] = text
		order = append(order, number)
	}
	return texts, order
}
