package main

import "runtime/debug"

// garbagePercent is how much garbage there may be before it is collected, in percent of what is in use, which is little here: with the usual 100 a
// collection comes every few dozen calls and slows one of them down. It costs four megabytes.
const garbagePercent = 200

// collectLess sets that, unless the user has set GOGC.
func collectLess(lookup func(string) (string, bool)) {
	if v, ok := lookup("GOGC"); !ok || v == "" {
		debug.SetGCPercent(garbagePercent)
	}
}
