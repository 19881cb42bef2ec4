// Command crossvet type-checks packages and their tests from source and runs the analyzers of go vet on them: GOOS=windows crossvet ./...
//
// Go vet compiles the standard library first, for each system anew. This needs no compiled package, and a tenth of the time on a new machine.
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"
	"golang.org/x/tools/go/analysis/suite/vet"
)

func main() { multichecker.Main(vet.Suite...) }
