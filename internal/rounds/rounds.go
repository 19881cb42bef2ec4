// Package rounds lets one flag scale how often tests repeat what only sometimes goes wrong: `make check` runs them a few
// times, `make soak` runs the full counts.
package rounds

import "flag"

// factor is registered when a test binary imports the package, so only those know the flag.
var factor = flag.Float64("smol.rounds", 1, "how many times the usual count repeated tests run")

// N returns how often to repeat what is usually repeated n times; at least once.
func N(n int) int {
	return max(1, int(float64(n)**factor))
}

// soak is the factor of `make soak`.
const soak = 20

// Soak returns how often to repeat what is usually repeated n times and in a soak full times, which need not be soak times as often; in between as the flag
// says.
func Soak(n, full int) int {
	if *factor <= 1 {
		return N(n)
	}
	return n + int(float64(full-n)*(*factor-1)/(soak-1))
}
