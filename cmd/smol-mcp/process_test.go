package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

type args = map[string]any

// host is where programs run that share a runtime directory, with both fleets.
type host struct {
	t        *testing.T
	bin, run string
	local    *smoltest.Local
	cloud    *smoltest.Cloud
	fleets   [2]*smol.Fleet
}

func newHost(t *testing.T, bin string) *host {
	t.Helper()
	guest := func() smoltest.Guest {
		return smoltest.Script(func(ctx context.Context, c *smoltest.Call) int {
			if c.Argv[0] == "hang" {
				<-ctx.Done()
			}
			return 0
		})
	}
	h := &host{t: t, bin: bin, run: runDir(t)}
	h.local = smoltest.NewLocal(t, &smoltest.Options{Guest: guest()})
	h.cloud = smoltest.NewCloud(t, &smoltest.CloudOptions{Guest: guest()})
	h.fleets = [2]*smol.Fleet{h.local.Service(t).Fleet, h.cloud.Service(t).Fleet}
	return h
}

// list returns the names of what is on both fleets.
func (h *host) list() (local, cloud []string) {
	h.t.Helper()
	var out [2][]string
	for i, f := range h.fleets {
		for info, err := range f.List(h.t.Context(), nil) {
			if err != nil {
				h.t.Fatal(err)
			}
			out[i] = append(out[i], info.Name)
		}
	}
	return out[0], out[1]
}

// wait waits until what is on the fleets is as it should be.
func (h *host) wait(what string, ok func(local, cloud []string) bool) {
	h.t.Helper()
	look, end := time.NewTicker(5*time.Millisecond), time.After(30*time.Second)
	defer look.Stop()
	for {
		l, c := h.list()
		if ok(l, c) {
			return
		}
		select {
		case <-look.C:
		case <-end:
			h.t.Fatalf("waited for %s; there are %v and %v", what, l, c)
		}
	}
}

// settled returns what is on the fleets once nothing more comes of what was asked before.
func (h *host) settled() (local, cloud []string) {
	h.t.Helper()
	var before string
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for same := 0; same < 3; <-look.C {
		local, cloud = h.list()
		if now := strings.Join(local, " ") + "/" + strings.Join(cloud, " "); now == before {
			same++
		} else {
			before, same = now, 0
		}
	}
	return local, cloud
}

// process is a program under test.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.Closer
	stderr bytes.Buffer // to be read once it has exited
	done   chan error
	lines  chan []byte
	id     int
}

func (h *host) start(env ...string) *process {
	h.t.Helper()
	return startProgram(h.t, h.bin, append([]string{
		"PATH=/nowhere", "HOME=" + h.t.TempDir(), "SMOL_MCP_TARGETS=both", "SMOL_MCP_NETWORK_DEFAULT=open", "SMOL_MCP_RUN_ONCE_NETWORK=open",
		"SMOL_MCP_RUNTIME_DIR=" + h.run, "SMOL_LOCAL_URL=" + h.local.URL(),
		"SMOL_CLOUD_URL=" + h.cloud.URL(), "SMOL_CLOUD_TOKEN=" + h.cloud.Token(),
	}, env...))
}

// startProgram starts a server with an environment.
func startProgram(t *testing.T, bin string, env []string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(bin, "--log-level=debug"), done: make(chan error, 1), lines: make(chan []byte, 64)}
	p.cmd.Env, p.cmd.Stderr = env, &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		p.out = out
		p.in, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				break
			}
			p.lines <- line
		}
		close(p.lines)
		p.done <- p.cmd.Wait()
	}()
	t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

// ask sends a request and returns its id.
func (p *process) ask(method string, params any) int {
	p.t.Helper()
	p.id++
	p.send(args{"jsonrpc": "2.0", "id": p.id, "method": method, "params": params})
	return p.id
}

func (p *process) send(msg args) {
	p.t.Helper()
	b, err := json.Marshal(msg)
	if err == nil {
		_, err = p.in.Write(append(b, '\n'))
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// answer returns the result of the request, which is no failure, and passes over what comes before.
func (p *process) answer(id int) map[string]any {
	p.t.Helper()
	res := p.result(id)
	if res["isError"] == true {
		p.t.Fatalf("%v", res)
	}
	return res
}

// result returns the result of the request, also if it tells of a failure.
func (p *process) result(id int) map[string]any {
	p.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("it ended: %v\n%s", <-p.done, &p.stderr)
			}
			var msg struct {
				ID            int
				Result, Error map[string]any
			}
			if err := json.Unmarshal(line, &msg); err != nil {
				p.t.Fatalf("%v in %s", err, line)
			}
			if msg.ID != id {
				continue
			}
			if msg.Error != nil {
				p.t.Fatalf("%s", line)
			}
			return msg.Result
		case <-limit:
			p.t.Fatal("there is no answer")
		}
	}
}

func (p *process) initialize() {
	p.t.Helper()
	p.answer(p.ask("initialize", args{"protocolVersion": "2025-06-18", "capabilities": args{}, "clientInfo": args{"name": "test", "version": "1"}}))
	p.send(args{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

func (p *process) call(tool string, in args) map[string]any {
	p.t.Helper()
	return p.answer(p.ask("tools/call", args{"name": tool, "arguments": in}))["structuredContent"].(map[string]any)
}

// create makes an ephemeral machine on each fleet and returns their names.
func (p *process) create() (names [2]string) {
	p.t.Helper()
	for i, target := range []string{"local", "cloud"} {
		names[i] = p.call("create-machine", args{"target": target, "image": "alpine"})["machine"].(map[string]any)["name"].(string)
	}
	return names
}

// exited waits until the program has ended by itself, without an error.
func (p *process) exited() {
	p.t.Helper()
	if err := p.wait(); err != nil {
		p.t.Errorf("%v\n%s", err, &p.stderr)
	}
}

// kill ends the program as a crash does.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = p.wait()
}

func (p *process) wait() error {
	p.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case _, ok := <-p.lines:
			if ok {
				continue
			}
			p.lines = nil
		case err := <-p.done:
			return err
		case <-limit:
			p.t.Fatal("it does not end")
		}
	}
}
