package smoltest

import (
	"slices"

	"github.com/smol-machines/smol-go/smol"
)

// Mutant is a backend with one thing wrong. The suite of [TestBackend] fails on each, which shows that it looks.
type Mutant struct {
	// Name is short and unlike the others', What says in a sentence what is wrong.
	Name, What string
	// Wrap returns the backend with the fault. A fault in what a backend does not have, such as files, changes nothing.
	Wrap func(smol.Backend) smol.Backend
}

// Mutants returns sabotages of a backend, each of one promise; a suite that passes with one of them does not hold that promise.
func Mutants() []Mutant {
	return slices.Concat(execMutants(), startMutants(), stopMutants(), createMutants(), specMutants(), listMutants(), errorMutants(), fileMutants(), jobMutants())
}

// bend returns a function that makes a bent backend.
func bend(change func(b *bent)) func(smol.Backend) smol.Backend {
	return func(next smol.Backend) smol.Backend {
		b := &bent{Backend: next}
		change(b)
		return b
	}
}
