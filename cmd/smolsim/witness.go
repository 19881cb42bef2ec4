package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"
)

// A command of `smolsim run` is in the process group of smolsim, so that pipes, terminals and job control are to it what they are without smolsim.
// What somebody sends to the whole group (a terminal, a shell, timeout) it gets itself, and must not get again from smolsim; what is sent to smolsim alone, by a
// supervisor that knows only its child, must be handed on. The system does not tell a program which of the two it was. Hence the
// witness: smolsim once more, in the same group, which nobody knows, and which gets only what all get.

// witnessName is the command that makes this program a witness.
const witnessName = "witness-of-run"

const (
	// settling is how long the witness, when it is asked, waits for a signal that may be on its way to it: one for a group reaches its processes one after
	// another, and threads of a process take it up in any order. On a busy host it takes longer until any of them does, so the wait begins when the
	// witness has got a signal that it sends to itself.
	settling = 20 * time.Millisecond
	// answering is how long it is waited for, and keeping how long what it has seen counts.
	answering, keeping = 5 * time.Second, time.Second
)

// beWitness writes the number of each signal that it gets, and a zero when it is ready and whenever it has been asked by a byte. It ends with its input.
func beWitness(p *program) error {
	signals := make(chan os.Signal, 64)
	notify(signals)
	defer signal.Stop(signals)
	marks := make(chan os.Signal, 1)
	notifyMark(marks)
	defer signal.Stop(marks)
	asked := make(chan error)
	go func() {
		for {
			_, err := io.ReadFull(p.stdin, make([]byte, 1))
			asked <- err
			if err != nil {
				return
			}
		}
	}()
	say := func(b byte) error {
		_, err := p.stdout.Write([]byte{b})
		return err
	}
	err := say(0)
	var settled <-chan time.Time
	asks := 0
	for err == nil {
		select {
		case s := <-signals:
			err = say(signalNumber(s))
		case err = <-asked:
			if asks++; err == nil {
				err = mark(marks)
			}
		case <-marks:
			settled = time.After(settling)
		case <-settled:
			for len(signals) > 0 && err == nil {
				err = say(signalNumber(<-signals))
			}
			for ; asks > 0 && err == nil; asks-- {
				err = say(0)
			}
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// witness is the other end. It is used by one goroutine.
type witness struct {
	cmd  *exec.Cmd
	ask  io.WriteCloser
	said chan byte
	owed int // answers that have yet to come
	seen map[byte][]time.Time
}

// startWitness returns when the witness sees what comes.
func startWitness() (*witness, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &witness{cmd: exec.Command(self, witnessName), said: make(chan byte, 1024), owed: 1, seen: map[byte][]time.Time{}}
	if w.ask, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(w.said)
		for b := make([]byte, 1); ; {
			if _, err := out.Read(b); err != nil {
				return
			}
			w.said <- b[0]
		}
	}()
	w.listen()
	return w, nil
}

// listen notes what the witness says, up to its last answer.
func (w *witness) listen() {
	limit := time.NewTimer(answering)
	defer limit.Stop()
	for w.owed > 0 {
		select {
		case n, ok := <-w.said:
			switch {
			case !ok:
				return
			case n == 0:
				w.owed--
			default:
				w.seen[n] = append(w.seen[n], time.Now())
			}
		case <-limit.C:
			return
		}
	}
}

// saw reports whether a signal that this program has just got was for the whole group.
func (w *witness) saw(s os.Signal) bool {
	if _, err := w.ask.Write([]byte{1}); err != nil {
		return false // it was killed
	}
	w.owed++
	w.listen()
	n := signalNumber(s)
	for len(w.seen[n]) > 0 {
		at := w.seen[n][0]
		w.seen[n] = w.seen[n][1:]
		if time.Since(at) < keeping { // else one that came to this program together with another
			return true
		}
	}
	return false
}

// end lets the witness go.
func (w *witness) end() {
	_ = w.ask.Close()
	for range w.said {
		// until it has closed its output
	}
	_ = w.cmd.Wait()
}
