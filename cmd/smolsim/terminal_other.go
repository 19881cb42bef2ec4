//go:build !unix

package main

import "os"

// alreadySent reports whether a command of ours has got the signal without our help, as it does from a console.
func alreadySent(s os.Signal) bool { return s == os.Interrupt }
