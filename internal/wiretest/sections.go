package wiretest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Sections holds that every section of the contract has a transcript or a reason for having none, and not both.
func (s *Suite) Sections(t *testing.T) {
	all, err := facts(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	titles, order := list(t, filepath.Join(s.Dir, "sections.txt"))
	reasons, _ := list(t, filepath.Join(s.Dir, "without.txt"))
	count := map[string]int{}
	for _, f := range all {
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
	for _, n := range order {
		reason := reasons[n]
		switch {
		case count[n] == 0 && reason == "":
			t.Errorf("§%s %s: has neither a transcript nor a reason in without.txt", n, titles[n])
		case count[n] > 0 && reason != "":
			t.Errorf("§%s %s: has %d transcripts and a reason for having none", n, titles[n], count[n])
		case reason != "":
			t.Logf("§%s %s: no transcript: %s", n, titles[n], reason)
		default:
			t.Logf("§%s %s: %d transcripts", n, titles[n], count[n])
		}
	}
	for n := range reasons {
		if titles[n] == "" {
			t.Errorf("without.txt: there is no section %s", n)
		}
	}
}

// SectionNumbers returns the numbers of the sections that the file, a sections.txt, lists.
func SectionNumbers(t testing.TB, file string) []string {
	t.Helper()
	_, order := list(t, file)
	return order
}

// list reads lines of a number, or a name, and a text.
func list(t testing.TB, file string) (map[string]string, []string) {
	t.Helper()
	src, err := os.ReadFile(file)
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
			t.Errorf("%s: %s comes twice", file, number)
		}
		texts[number] = text
		order = append(order, number)
	}
	return texts, order
}
