package cloud_test

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/script"
	"github.com/smol-machines/smol-go/internal/simtest"
	"github.com/smol-machines/smol-go/internal/wiretest"
)

var wireSuite = wiretest.Suite{Dir: "../../../testdata/wire-cloud", Least: 240, New: newWireService}

// TestWire replays the transcripts of the contract over a raw socket, without this project's client and without net/http's.
func TestWire(t *testing.T) { wireSuite.Replay(t) }

// TestWireSections holds that every section of the contract has a transcript or a reason for having none.
func TestWireSections(t *testing.T) { wireSuite.Sections(t) }

// wireKey is the key that requests have unless a transcript says otherwise.
const wireKey = "smk_wire"

// wireService is the server of one transcript. Its time stands still until the transcript moves it.
type wireService struct {
	*wiretest.Run
	opts    cloud.Options
	clock   *cloud.FakeClock
	server  *cloud.Server
	done    chan error
	address string
	ids     map[string]bool
}

func newWireService(r *wiretest.Run) wiretest.Service {
	clock := cloud.NewFakeClock(time.Time{})
	r.Vars["key"], r.Vars["arch"] = wireKey, runtime.GOARCH
	return &wireService{
		Run: r, clock: clock, ids: map[string]bool{},
		opts: cloud.Options{DataDir: filepath.Join(r.Dir, "data"), Token: wireKey, Guest: script.New(nil), Clock: clock},
	}
}

func (s *wireService) Start() error {
	server, err := cloud.New(&s.opts)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, server.Close())
	}
	s.server, s.done, s.address = server, make(chan error, 1), l.Addr().String()
	go func() { s.done <- server.Serve(l) }()
	return nil
}

func (s *wireService) Stop() {
	s.server.KillAll()
	s.server.Close()
	<-s.done
}

func (s *wireService) Dial() (net.Conn, error) { return net.Dial("tcp", s.address) }

func (s *wireService) Headers() [][2]string {
	return [][2]string{{"host", s.address}, {"authorization", "Bearer " + wireKey}}
}

// wireRequestID is what a request id can look like (1.3).
var wireRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// Check wants a request id in every reply, each another one.
func (s *wireService) Check(_ string, a *wiretest.Answer) error {
	id := a.Header("x-request-id")
	switch {
	case a.Status == "101":
		return nil
	case !wireRequestID.MatchString(id):
		return fmt.Errorf("x-request-id is %q", id)
	case s.ids[id]:
		return fmt.Errorf("the request id %s comes twice", id)
	}
	s.ids[id] = true
	return nil
}

func (s *wireService) Directive(d []string) error {
	switch {
	case d[0] == "guest" && len(d) == 2 && d[1] == "sandbox":
		s.opts.Guest = simtest.Sandbox(s.TB)
	case d[0] == "option" && len(d) == 3:
		return wiretest.SetOption(&s.opts, d[1], d[2])
	case d[0] == "key" && len(d) > 1:
		return s.key(d[1], d[2:])
	default:
		return wiretest.ErrUnknown
	}
	return nil
}

// key adds a key, whose token is then what {{NAME}} stands for.
func (s *wireService) key(name string, words []string) error {
	k := cloud.Key{Token: "smk_" + name}
	for _, w := range words {
		switch what, value, _ := strings.Cut(w, "="); what {
		case "account":
			k.Account = value
		case "scopes":
			k.Scopes = strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
		case "expired":
			k.Expires = s.clock.Now().Add(-time.Second)
		default:
			return fmt.Errorf("a key has no %s", what)
		}
	}
	s.Vars[name] = k.Token
	s.opts.Keys = append(s.opts.Keys, k)
	return nil
}

func (s *wireService) Act(words []string) error {
	switch verb := words[0]; {
	case verb == "restart" && len(words) == 1:
		s.server.Close()
		<-s.done
		return s.Start()
	case verb == "crash" && len(words) == 1:
		s.server.KillAll()
		return nil
	case verb == "advance" && len(words) == 2:
		d, err := time.ParseDuration(words[1])
		s.clock.Advance(d)
		return err
	case verb == "await" && len(words) == 3:
		return s.Await("/v1/machines/"+words[1], `{"state":"`+words[2]+`","...":"..."}`)
	case verb == "await-ready" && len(words) == 2:
		return s.Await("/v1/machines/"+words[1], `{"ready":true,"...":"..."}`)
	case verb == "sweep-until-gone" && len(words) == 2:
		return s.AwaitStatus("/v1/machines/"+words[1], "404", func() { s.clock.Advance(15 * time.Second) })
	case verb == "await-listed" && len(words) == 2:
		return s.Await("/v1/machines", `[{"name":"`+words[1]+`","...":"..."}]`)
	case verb == "await-checkpoint" && len(words) == 3:
		return s.Await("/v1/checkpoints/"+words[1], `{"status":"`+words[2]+`","...":"..."}`)
	case verb == "listen" && len(words) == 4:
		port, err := strconv.Atoi(words[2])
		return errors.Join(err, s.server.SetListening(words[1], port, words[3] == "yes"))
	case verb == "console" && len(words) == 3:
		return s.server.AppendConsole(words[1], strings.ReplaceAll(words[2], `\n`, "\n"))
	default:
		return wiretest.ErrUnknown
	}
}
