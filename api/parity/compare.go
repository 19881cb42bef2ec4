package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// compare lists the differences, sorted by place, and counts them.
func compare(ours, theirs facts) string {
	var b strings.Builder
	var only, missing, differ int
	all := maps.Clone(ours)
	maps.Copy(all, theirs)
	for _, place := range slices.Sorted(maps.Keys(all)) {
		mine, have := ours[place]
		other, has := theirs[place]
		switch {
		case have && has && mine.is != other.is:
			differ++
			fmt.Fprintf(&b, "type    %s: %s, theirs %s\n", place, mine.is, other.is)
		case have && !has && known(theirs, mine):
			only++
			fmt.Fprintf(&b, "ours    %s: %s\n", place, mine.is)
		case has && !have && known(ours, other):
			missing++
			fmt.Fprintf(&b, "theirs  %s: %s\n", place, other.is)
		}
	}
	fmt.Fprintf(&b, "%d only in ours, %d only in theirs, %d of another type\n", only, missing, differ)
	return b.String()
}

// known reports whether what a fact lies in is described: what is within something that is missing as a whole is not told apart.
func known(there facts, f fact) bool {
	_, has := there[f.in]
	return has || f.in == ""
}
