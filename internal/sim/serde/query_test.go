package serde_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim/serde"
)

type logs struct {
	Follow bool    `serde:"follow,default"`
	Tail   *uint   `serde:"tail"`
	Cols   uint16  `serde:"cols,default"`
	Format *string `serde:"format"`
	Fork   *bool   `serde:"forkable|branchable"`
}

func TestQuery(t *testing.T) {
	for _, tt := range []struct {
		raw  string
		want logs
		err  string
	}{
		{raw: "", want: logs{}},
		{raw: "follow=true&tail=0&other=x&&format=a%20b+c%zz", want: logs{Follow: true, Tail: ptr(uint(0)), Format: ptr("a b c%zz")}},
		{raw: "format=%ff&format2", want: logs{Format: ptr("\ufffd")}},
		{raw: "branchable=false", want: logs{Fork: ptr(false)}},
		{raw: "tail=%2B7", want: logs{Tail: ptr(uint(7))}},
		{raw: "follow=1", err: "follow: provided string was not `true` or `false`"},
		{raw: "follow=", err: "follow: provided string was not `true` or `false`"},
		{raw: "follow", err: "follow: provided string was not `true` or `false`"},
		{raw: "follow=TRUE", err: "follow: provided string was not `true` or `false`"},
		{raw: "tail=x", err: "tail: invalid digit found in string"},
		{raw: "tail=-1", err: "tail: invalid digit found in string"},
		{raw: "tail=", err: "tail: cannot parse integer from empty string"},
		{raw: "tail=99999999999999999999", err: "tail: number too large to fit in target type"},
		{raw: "cols=65536", err: "cols: number too large to fit in target type"},
		{raw: "follow=true&follow=true", err: "duplicate field `follow`"},
		{raw: "forkable=true&branchable=true", err: "duplicate field `forkable`"},
	} {
		t.Run(tt.raw, func(t *testing.T) {
			var got logs
			err := serde.Query(tt.raw, &got)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestQuote(t *testing.T) {
	if got, want := serde.Quote("a\"b\\c\n\r\t\x00'é\x1b"), `"a\"b\\c\n\r\t\0'é\u{1b}"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzQuery(f *testing.F) {
	f.Add("follow=true&tail=3")
	f.Add("format=%e2%82%ac%")
	f.Fuzz(func(_ *testing.T, raw string) {
		var got logs
		_ = serde.Query(raw, &got)
	})
}
