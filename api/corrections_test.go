package api_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/api"
	"github.com/smol-machines/smol-go/internal/wiretest"
)

// chapter is the part of corrections.md on one document: what may be named in it.
type chapter struct {
	names    map[string]bool // operations, schemas and fields
	sections []string        // of the contract
	rows     int
}

func newChapter(t *testing.T, src []byte, sections string) *chapter {
	t.Helper()
	d := parse(t, src)
	c := &chapter{names: map[string]bool{}, sections: wiretest.SectionNumbers(t, sections)}
	for _, op := range operations(t, d) {
		c.names[op.OperationID] = true
	}
	for name, s := range d.Components.Schemas {
		c.names[name] = true
		for field := range s.Properties {
			c.names[name+"."+field] = true
		}
	}
	return c
}

var quoted = regexp.MustCompile("`([^`]+)`")

// check looks at one line.
func (c *chapter) check(t *testing.T, line string) {
	t.Helper()
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if len(cells) != 4 || strings.HasPrefix(cells[0], "-") || cells[3] == "evidence" || cells[3] == "set" {
		return
	}
	c.rows++
	for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
		if !c.names[m[1]] {
			t.Errorf("corrections.md: %s is not in the document", m[1])
		}
	}
	for evidence := range strings.SplitSeq(cells[3], ",") {
		if e := strings.TrimSpace(evidence); len(e) > 0 && e[0] >= '0' && e[0] <= '9' && !slices.Contains(c.sections, e) {
			t.Errorf("corrections.md: there is no section %s", e)
		}
	}
}

// TestCorrectionsNameWhatExists keeps corrections.md true to the documents: what its first columns quote is an operation, a schema or a
// field of one, and its evidence is a section of the contract.
func TestCorrectionsNameWhatExists(t *testing.T) {
	src, err := os.ReadFile("corrections.md")
	if err != nil {
		t.Fatal(err)
	}
	chapters := map[string]*chapter{
		"local.yaml": newChapter(t, api.LocalJSON, "../testdata/wire/sections.txt"),
		"cloud.yaml": newChapter(t, api.CloudJSON, "../testdata/wire-cloud/sections.txt"),
	}
	var at *chapter
	for line := range strings.Lines(string(src)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
			if at = chapters[name]; at == nil {
				t.Fatalf("corrections.md: there is no document %s", name)
			}
		} else if at != nil {
			at.check(t, line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(chapters)) {
		if n := chapters[name].rows; n < 50 {
			t.Errorf("only %d rows on %s found", n, name)
		}
	}
}
