// Package serve looks after `smolvm serve` on this host: it finds one that runs, starts one where none does, shares it with other
// programs of the same user, and stops it when the last of them lets go.
//
// What programs know of each other lies in the runtime directory, which belongs to one user:
//
//   - api.sock, where the serve listens;
//   - serve.pid, its process, its owner and its address;
//   - serve.lock, held by who is finding, starting or stopping, so that only one does;
//   - serve.users, held shared by every program that uses the serve. The system releases a lock when its holder dies, however
//     that came about, so whoever gets the exclusive lock knows that nobody else uses the serve;
//   - serve.log, what it prints.
//
// A serve runs only after its process is on record: it is started through a shell that waits for that. So whoever comes after a program
// that died half-way through a start finds the process, and there is no second one on the same data.
package serve

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/internal/private"
)

// Config says where to look and what to start. New copies it.
type Config struct {
	// Program is smolvm: a name on the PATH, or a path.
	Program string
	// Dir is the runtime directory; it need not exist.
	Dir string
	// OwnURL is where a serve in Dir listens; empty: a free port of loopback, which the record tells.
	OwnURL string
	// URL is looked at before Dir, and Adopt after it.
	URL   string
	Adopt []string
	// Env is the environment from which that of the serve is chosen.
	Env []string
	// MinVersion is the oldest release that is used; empty: any.
	MinVersion string
	// StartTimeout bounds a start, StopTimeout how long a serve may take to end before it is killed.
	StartTimeout, StopTimeout time.Duration
	// Silence is how long a serve on record that has answered before is waited for. Zero: 5 seconds.
	Silence time.Duration
	// Log is told what is passed over, and of starts and stops.
	Log *slog.Logger
	// Probe asks the service at url for its release. Its error tells a socket that is not there or refuses by the system's errors, and one
	// that another user listens at by [ErrForeign].
	Probe func(ctx context.Context, url string) (version string, err error)
	// KVM is the device without which there is no hypervisor; empty: that is not looked at.
	KVM string
	// Step, if it is not nil, is called between the steps of finding, starting and stopping; it is for tests.
	Step func(name string)
}

// Supervisor looks after the serve of one runtime directory for one program. It is safe for concurrent use.
type Supervisor struct {
	c Config

	mu     sync.Mutex
	leases int   // that want a serve
	use    *Use  // what they use
	work   *work // what is under way, for all who wait for it
}

// Use is one service for as long as this program sends its requests there.
type Use struct {
	// URL is where it listens and Version its release.
	URL, Version string
	// Process is the serve, if it is one of this runtime directory.
	Process Process

	users *private.Lock // held while this program uses the serve; nil for one that somebody else looks after
	child <-chan exited // of a serve that this program started
	watch func()        // ends the watch over the log
	left  bool          // this program's part has ended
	lost  bool          // nobody answers there
}

// Ours reports whether the last program that lets go of the service stops it.
func (u *Use) Ours() bool { return u.users != nil }

// work is a look for a serve, or a stop.
type work struct {
	done   chan struct{}      // closed at the end
	cancel context.CancelFunc // of a look
	given  bool               // up, since nobody wanted it any more; to be read after done
	use    *Use
	err    error
}

// New returns a supervisor. It does no I/O.
func New(c *Config) *Supervisor {
	s := &Supervisor{c: *c}
	if s.c.Silence == 0 {
		s.c.Silence = 5 * time.Second
	}
	return s
}

func (s *Supervisor) step(name string) {
	if s.c.Step != nil {
		s.c.Step(name)
	}
}
