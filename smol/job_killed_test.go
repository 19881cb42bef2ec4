package smol_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/rounds"
	simcloud "github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/fault"
	simlocal "github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
	"github.com/smol-machines/smol-go/internal/simtest"
	"github.com/smol-machines/smol-go/smol"
)

// serviceOrder is the variable that makes the test binary a stand-in: it holds a post as JSON.
const serviceOrder = "SMOL_TEST_JOB_SERVICE"

// post is what a stand-in in a process of its own is to be.
type post struct {
	Dir, Token string // with a token it is the cloud
}

// word is a line that the stand-in writes: where it serves, that it will not answer the next exec, and that it has been asked for one.
type word struct {
	URL        string
	Mute, Exec bool
}

func (w word) say() {
	line, _ := json.Marshal(w)               // which always can be
	_, _ = os.Stdout.Write(append(line, 10)) // whoever does not listen ends us
}

// jobServer is the stand-in.
func jobServer(text string) int {
	var p post
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.serve()
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func (p *post) serve() error {
	faults := fault.New()
	wrap := func(next http.Handler) http.Handler {
		// It is told once the fault is chosen, so that whoever hears it can send an exec that is not hit.
		return faults.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/exec") {
				word{Exec: true}.say()
			}
			next.ServeHTTP(w, r)
		}))
	}
	var server interface {
		Serve(l net.Listener) error
		KillAll()
	}
	var err error
	guest, dir := sandbox.New(nil), filepath.Join(p.Dir, "data")
	if p.Token != "" {
		server, err = simcloud.New(&simcloud.Options{Guest: guest, DataDir: dir, Token: p.Token, Wrap: wrap})
	} else {
		server, err = simlocal.New(&simlocal.Options{Guest: guest, DataDir: dir, Wrap: wrap})
	}
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		for b := make([]byte, 1); ; {
			if _, err := os.Stdin.Read(b); err != nil { // the test is over, or dead
				server.KillAll()
				os.Exit(0)
			}
			faults.Add(fault.Fault{Method: http.MethodPost, Path: "exec", Nth: 1, Action: fault.Hang, Work: true})
			word{Mute: true}.say()
		}
	}()
	word{URL: "http://" + l.Addr().String()}.say()
	return server.Serve(l)
}

// runningService is a stand-in in a process of its own.
type runningService struct {
	order
	fleet *smol.Fleet
	stdin io.Writer
	muted chan struct{}
	execs chan struct{} // has one when there was an exec since it was emptied
	kill  func()        // with SIGKILL
}

// nextExec waits for an exec that begins from now on.
func (s *runningService) nextExec() {
	select {
	case <-s.execs:
	default:
	}
	<-s.execs
}

// serveJobs starts a stand-in that goes on with what another one has left in the directory.
func serveJobs(t *testing.T, p post) *runningService {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serviceOrder+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended, served := make(chan struct{}), make(chan string, 1)
	s := &runningService{
		order: order{Token: p.Token}, stdin: stdin, muted: make(chan struct{}, 1), execs: make(chan struct{}, 1),
		kill: func() { _ = cmd.Process.Kill(); <-ended }, // it may have ended
	}
	t.Cleanup(func() { _ = stdin.Close(); <-ended })
	go func() {
		defer close(ended)
		defer close(served)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var w word
			if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
				t.Errorf("the stand-in says %.100q", lines.Bytes())
			}
			switch {
			case w.URL != "":
				served <- w.URL
			case w.Mute:
				s.muted <- struct{}{}
			default:
				select {
				case s.execs <- struct{}{}:
				default:
				}
			}
		}
		_ = cmd.Wait() // which says that it was killed
	}()
	if s.URL = <-served; s.URL == "" {
		t.Fatal("the stand-in does not serve")
	}
	if s.fleet, err = s.order.fleet(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.fleet.Close() })
	return s
}

// jobs returns the ids of the jobs in the machine.
func (s *runningService) jobs(t *testing.T, machine string) (ids []string) {
	for info, err := range s.fleet.Machine(machine).Jobs(t.Context()) {
		if err != nil {
			t.Error(err)
			return []string{""}
		}
		ids = append(ids, info.ID)
	}
	return ids
}

// killedAt are the moments at which the client and the stand-in are killed; each function returns when the client was, and what it had learned of the job
// is noted in a.
var killedAt = []struct {
	name string
	kill func(t *testing.T, s *runningService, a *attached)
}{
	{"before the answer to the start", func(t *testing.T, s *runningService, a *attached) {
		_, _ = s.stdin.Write([]byte{1})
		<-s.muted
		ctx, kill := context.WithCancel(t.Context())
		defer kill()
		o := a.start()
		go func() {
			defer kill()
			s.nextExec() // that of the client
			for a.Job == "" {
				for _, a.Job = range s.jobs(t, a.Machine) {
				}
			}
			// The exec that starts it dies with the stand-in, perhaps before the job stands alone.
			_, err := s.fleet.Machine(a.Machine).Job(a.Job).Poll(t.Context(), &smol.PollOptions{Wait: time.Minute, News: true})
			if err != nil {
				t.Error(err)
			}
		}()
		clientUntil(t, ctx, o, func(said said) bool {
			t.Errorf("the client has an answer: %+v", said)
			return false
		})
		<-ctx.Done()
	}},
	{"after the start", func(t *testing.T, _ *runningService, a *attached) {
		client(t, a.start(), func(said said) bool { a.Job = said.Job; return false })
	}},
	{"in the middle of a poll", func(t *testing.T, s *runningService, a *attached) {
		client(t, a.start(), func(said said) bool { a.Job = said.Job; return false })
		client(t, a.order, func(said said) bool {
			a.hear(t, said)
			s.nextExec()
			return false
		})
	}},
}

// start is the order to start the job.
func (a *attached) start() order {
	o := a.order
	o.Script = endless
	return o
}

// TestJobKilled: client and stand-in, a process each, are killed between the start of a job and its first poll, or in a poll. Another stand-in goes on with the
// machine, and another client, which knows the job's id and how far it was read, gets the rest and the exit code.
func TestJobKilled(t *testing.T) {
	simtest.Sandbox(t)
	for n, tt := range killedAt {
		for f, token := range []string{"", "smk_killed"} {
			for i, image := range simImages {
				if i != (n+f)%len(simImages) && rounds.N(1) == 1 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", tt.name, []string{"local", "cloud"}[f], image), func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					t.Cleanup(func() { endMachines(t, dir) })
					killJobs(t, post{dir, token}, image, tt.kill)
				})
			}
		}
	}
}

func killJobs(t *testing.T, p post, image string, kill func(t *testing.T, s *runningService, a *attached)) {
	s := serveJobs(t, p)
	a := &attached{order: s.order}
	a.Machine = createJobs(t, s.fleet, image)
	kill(t, s, a)
	s.kill()

	s = serveJobs(t, p)
	a.URL, a.From = s.URL, a.from
	stop := sync.OnceFunc(func() {
		if err := s.fleet.Machine(a.Machine).WriteFile(t.Context(), "/workspace/stop", nil, nil); err != nil {
			t.Error(err)
		}
	})
	client(t, a.order, func(said said) bool {
		a.hear(t, said)
		stop()
		return true
	})
	a.whole(t, image)
	if all := s.jobs(t, a.Machine); len(all) != 1 {
		t.Errorf("there are the jobs %q, want one", all)
	}
}

// endMachines ends what a stand-in that was killed has left.
func endMachines(t *testing.T, dir string) {
	states, err := filepath.Glob(filepath.Join(dir, "data", "vms", "*", "guest"))
	if err != nil {
		t.Error(err)
	}
	guest := sandbox.New(nil)
	for _, state := range states {
		if in, err := guest.Adopt(context.Background(), state); err == nil {
			err = in.Kill()
			if err != nil {
				t.Error(err)
			}
		}
		if err := guest.Remove(state); err != nil {
			t.Error(err)
		}
	}
}
