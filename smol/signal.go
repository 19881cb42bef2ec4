package smol

// Signal is a signal for a command in a machine, by its POSIX name without "SIG". It is a type of its own because the
// machine runs Linux whatever system this program runs on.
type Signal string

// The signals a command can be sent.
const (
	// Interrupt asks as Ctrl-C does.
	Interrupt Signal = "INT"
	// Terminate asks the command to end.
	Terminate Signal = "TERM"
	// Kill ends the command and everything it started, at once.
	Kill Signal = "KILL"
	// Hangup, Quit, User1 and User2 are what programs make of them.
	Hangup Signal = "HUP"
	Quit   Signal = "QUIT"
	User1  Signal = "USR1"
	User2  Signal = "USR2"
	// Stop halts the command until Continue.
	Stop     Signal = "STOP"
	Continue Signal = "CONT"
)

var signalNumbers = map[Signal]int{
	Hangup: 1, Interrupt: 2, Quit: 3, Kill: 9, User1: 10, User2: 12, Terminate: 15, Continue: 18, Stop: 19,
}

// Number returns the signal's number on Linux, or 0 for a name that is not among the constants.
func (s Signal) Number() int { return signalNumbers[s] }

// signalNamed returns the signal with Linux number n, or "" for one without a constant.
func signalNamed(n int) Signal {
	for s, m := range signalNumbers {
		if m == n {
			return s
		}
	}
	return ""
}
