package smol_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/fault"
	simhost "github.com/smol-machines/smol-go/internal/sim/host"
	"github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/internal/sim/script"
	"github.com/smol-machines/smol-go/smol"
	smolcloud "github.com/smol-machines/smol-go/smol/cloud"
	smollocal "github.com/smol-machines/smol-go/smol/local"
)

// world is a stand-in with a client, all of it in one bubble of package synctest.
type world struct {
	fleet  *smol.Fleet
	host   standIn
	closes []func() error
	turn   chan struct{} // held by whoever restarts the service

	mu    sync.Mutex
	runs  map[string]int // how often the command with a tag was begun
	alive map[string]int // how many of them run
}

// standIn is what the hosts of both services have in common.
type standIn interface {
	URL() string
	Restart(ctx context.Context) error
	Fault(f fault.Fault) *fault.Armed
	ClearFaults()
	Close() error
}

// ports gives every world an address of its own: calls to a machine are counted by the service's address and the machine's name.
var ports atomic.Int32

// newWorld starts the service of a fleet.
func newWorld(fleet, version string) (*world, error) {
	w := &world{turn: make(chan struct{}, 1), runs: map[string]int{}, alive: map[string]int{}}
	n := &pipeNet{addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1024 + int(ports.Add(1))%60_000}}
	transport := rest.NewTransport(n.dial)
	guest := script.New(w.run)
	if fleet == "cloud" {
		const token = "smk_schedule"
		h, err := simhost.StartCloud(&simhost.CloudOptions{Server: cloud.Options{Guest: guest, Token: token}, Listen: n.Listen})
		if err != nil {
			return nil, err
		}
		w.host = h
		svc, err := smolcloud.New(&smolcloud.Options{URL: h.URL(), Token: token, HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			return nil, err
		}
		w.fleet = svc.Fleet
	} else {
		n.window = 5 * time.Second
		h, err := simhost.Start(&simhost.Options{Server: local.Options{Guest: guest, Version: version}, Listen: n.Listen})
		if err != nil {
			return nil, err
		}
		w.host = h
		svc, err := smollocal.New(&smollocal.Options{URL: h.URL(), Wrap: func(http.RoundTripper) http.RoundTripper { return transport }})
		if err != nil {
			return nil, err
		}
		w.fleet = svc.Fleet
	}
	w.closes = append(w.closes, w.fleet.Close, func() error { transport.CloseIdleConnections(); return nil }, w.host.Close)
	return w, nil
}

// arm adds a fault. Restarts take turns on a channel: waiting for a lock would hold up the time, and with it whoever has the lock.
func (w *world) arm(f fault.Fault) *fault.Armed {
	f.Call = func() {
		w.turn <- struct{}{}
		defer func() { <-w.turn }()
		if err := w.host.Restart(context.Background()); err != nil {
			panic(err) // the bubble's test cannot go on without a service
		}
	}
	return w.host.Fault(f)
}

// count changes how many commands with the tag run.
func (w *world) count(tag string, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if by > 0 {
		w.runs[tag]++
	}
	w.alive[tag] += by
}

// seen returns how often the command with a tag was begun, and how many of it run.
func (w *world) seen(tag string) (runs, alive int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs[tag], w.alive[tag]
}

// run is every program in every machine: "work TAG MILLISECONDS BYTES CODE" takes so long, having written the first half of so many bytes at
// once, and then writes the other half and exits with the code. "cat" copies its input.
func (w *world) run(ctx context.Context, c *script.Call) int {
	switch c.Argv[0] {
	case "cat":
		if _, err := io.Copy(c.Stdout, c.Stdin); err != nil {
			return 1
		}
		return 0
	case "work":
		tag, args := c.Argv[1], make([]int, 3)
		for i := range args {
			args[i], _ = strconv.Atoi(c.Argv[2+i])
		}
		out := output(tag, args[1])
		w.count(tag, 1)
		defer w.count(tag, -1)
		_, _ = c.Stdout.Write(out[:len(out)/2]) // a dead command's writes fail
		select {
		case <-time.After(time.Duration(args[0]) * time.Millisecond):
		case <-ctx.Done():
			return 99
		}
		_, _ = c.Stdout.Write(out[len(out)/2:])
		return args[2]
	}
	return script.NotFound
}

// filler is between the numbers in what commands write.
var filler = strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz", 100)

// output is n bytes that tell from which command and which place in its output they are.
func output(tag string, n int) []byte {
	var b bytes.Buffer
	b.Grow(n + 2*len(filler))
	for i := 0; b.Len() < n; i++ {
		b.WriteString(tag + " part " + strconv.Itoa(i) + " " + filler[i%36:])
	}
	return b.Bytes()[:n]
}
