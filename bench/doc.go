// Package bench holds the bounds on time and memory, as ratios within one run, medians of nine or more. `make bench` runs it (build
// tag bench): what is timed on a busy machine does not belong into the tests that everybody runs.
package bench
