package serde_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/serde"
)

// words are one text or several.
type words struct{ list []string }

func (w *words) Match(b []byte) bool {
	var one string
	if json.Unmarshal(b, &one) == nil && b[0] == '"' {
		w.list = []string{one}
		return true
	}
	return b[0] == '[' && json.Unmarshal(b, &w.list) == nil
}

func TestUntagged(t *testing.T) {
	type wants struct {
		Words words  `serde:"words"`
		Maybe *words `serde:"maybe"`
	}
	for body, want := range map[string]string{
		`{"words":"a b"}`:                     "a b|",
		`{"words":[ "a" , "b" ]}`:             "a,b|",
		`{"words":[],"maybe":null}`:           "|",
		`{"words":"a","maybe":"b"}`:           "a|b",
		`{"words":7}`:                         "words: data did not match any variant of untagged enum Words at line 1 column 10",
		`{"words":null}`:                      "words: data did not match any variant of untagged enum Words at line 1 column 13",
		`{"words":["a",7]}`:                   "words: data did not match any variant of untagged enum Words at line 1 column 16",
		`{"words":"a","maybe":[{"x":[1,2]}]}`: "maybe: data did not match any variant of untagged enum Words at line 1 column 34",
		`{}`:                                  "missing field `words` at line 1 column 2",
		`{"words":"a","words":"b"}`:           "duplicate field `words` at line 1 column 20",
		`{"words":[`:                          "words: EOF while parsing a list at line 1 column 10",
		`{"words":}`:                          "words: expected value at line 1 column 10",
	} {
		var w wants
		var got string
		if err := serde.Decode([]byte(body), &w, nil); err != nil {
			got = err.Error()
		} else {
			got = strings.Join(w.Words.list, ",") + "|"
			if w.Maybe != nil {
				got += strings.Join(w.Maybe.list, ",")
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
