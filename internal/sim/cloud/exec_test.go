package cloud_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/simtest"
)

func TestExec(t *testing.T) {
	r := newRig(t, nil)
	id := r.create(`,"env":{"A":"1","B":"2"},"workdir":"/root"`)
	for _, tt := range []struct {
		name, body string
		code       int
		stdout     string
		stderr     string
	}{
		{"argv", `{"command":["echo","a b","*"]}`, 0, "a b *\n", ""},
		{"text", `{"command":"echo $A | wc"}`, 0, "shell: echo $A | wc\n", ""},
		{"failure", `{"command":["err","no"]}`, 3, "", "no\n"},
		{"no program", `{"command":["nope"]}`, 255, "", "executable file 'nope' not found in $PATH: No such file or directory\n"},
		{"no directory", `{"command":["echo"],"cwd":"/none"}`, 255, "", "chdir to '/none': No such file or directory\n"},
		{"stdin", `{"command":["cat"],"stdin":"in\u0000é"}`, 0, "in\u0000é", ""},
		{"environment", `{"command":["env"]}`, 0, environment + ";A=1;B=2 in /root as \n", ""},
		{"of its own", `{"command":["env"],"env":{"B":"3","C":"4"},"cwd":"/tmp","user":"1000:1000"}`, 0, environment + ";A=1;B=3;C=4 in /tmp as 1000:1000\n", ""},
		{"background", `{"command":["nope"],"background":true}`, 255, "", "executable file 'nope' not found in $PATH: No such file or directory\n"},
	} {
		var o outcome
		r.must(200, "POST", one(id, "/exec"), tt.body).json(t, &o)
		if o.ExitCode != tt.code || o.Stdout != tt.stdout || o.Stderr != tt.stderr || string(o.StdoutB64) != tt.stdout || string(o.StderrB64) != tt.stderr || o.MachineID != id {
			t.Errorf("%s: %+v", tt.name, o)
		}
	}
	if n := r.s.Boots(id); n != 1 {
		t.Errorf("%d boots", n)
	}
}

// environment is what commands see by default.
const environment = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin;HOME=/root"

func TestExecRefused(t *testing.T) {
	r := newRig(t, nil)
	id := r.create("")
	for _, tt := range []struct {
		query, body string
		status      int
		want        string
	}{
		{"", `{}`, 422, "missing field `command`"},
		{"", `{"command":[]}`, 400, "command must not be empty"},
		{"", `{"command":[""]}`, 400, "command must not be empty"},
		{"", `{"command":null}`, 422, "did not match any variant of untagged enum CommandSpec"},
		{"", `{"command":7}`, 422, "did not match any variant"},
		{"", `{"command":["a",7]}`, 422, "did not match any variant"},
		{"", `{"command":["a",null]}`, 422, "did not match any variant"},
		{"", `{"command":["a\u0000"]}`, 400, "NUL byte"},
		{"", `{"command":["a"],"cwd":"\u0000"}`, 400, "NUL byte"},
		{"", `{"command":["a"],"user":"\u0000"}`, 400, "NUL byte"},
		{"", `{"command":["a"],"env":{"A=":"x"}}`, 400, "invalid environment variable"},
		{"", `{"command":["a"],"timeoutSeconds":-1}`, 422, "invalid value"},
		{"", `{"command":["a"],"command":["b"]}`, 422, "duplicate field `command`"},
		{"", `{"command":[`, 400, "Failed to parse"},
		{"?output=all", `{"command":["echo"]}`, 400, "unknown variant `all`"},
		{"?output=b64&output=b64", `{"command":["echo"]}`, 400, "duplicate field `output`"},
	} {
		for _, path := range []string{"/exec", "/exec/stream"} {
			if a := r.do("POST", one(id, path)+tt.query, tt.body); a.status != tt.status || !strings.Contains(a.body, tt.want) {
				t.Errorf("%s%s %s: %s", path, tt.query, tt.body, a)
			}
		}
	}
	if n := r.s.Boots(id); n != 0 {
		t.Errorf("what is refused boots a machine %d times", n)
	}
}

func TestExecOutput(t *testing.T) {
	r := newRig(t, nil)
	id := r.up("")
	for query, want := range map[string]outcome{
		"":             {Stdout: "x\n", StdoutB64: []byte("x\n"), StderrB64: []byte{}, MachineID: id},
		"?output=both": {Stdout: "x\n", StdoutB64: []byte("x\n"), StderrB64: []byte{}, MachineID: id},
		"?output=text": {Stdout: "x\n", StdoutB64: []byte{}, StderrB64: []byte{}, MachineID: id},
		"?output=b64":  {StdoutB64: []byte("x\n"), StderrB64: []byte{}, MachineID: id},
	} {
		var o outcome
		r.must(200, "POST", one(id, "/exec")+query, `{"command":["echo","x"]}`).json(t, &o)
		if diff := cmp.Diff(want, o); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
	// Text ends at a mebibyte, in the middle of a character if need be; the bytes do not.
	o := r.exec(id, "many", "1048580")
	if len(o.StdoutB64) != 1048580 || !o.StdoutTruncated || o.StderrTruncated || o.Stdout != strings.Repeat("é", 1<<19) {
		t.Errorf("%d bytes as %d of text, truncated %v", len(o.StdoutB64), len(o.Stdout), o.StdoutTruncated)
	}
	if o = r.exec(id, "many", "1048576"); o.StdoutTruncated || len(o.Stdout) != 1<<20 {
		t.Errorf("%d of text, truncated %v", len(o.Stdout), o.StdoutTruncated)
	}
}

func TestExecOld(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Old = cloud.Old{NoUser: true, NoB64: true} })
	id := r.up("")
	a := r.must(200, "POST", one(id, "/exec?output=b64"), `{"command":["env"],"user":"nobody"}`)
	if strings.Contains(a.body, "B64") || !strings.Contains(a.body, `"user":null`) || !strings.Contains(a.body, ` as \n"`) {
		t.Errorf("%s", a)
	}
}

// Bytes come as they are, whatever they are, and text with what is no text replaced.
func TestExecBinary(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })
	id := r.up("")
	o := r.exec(id, "printf", `\377\000\r\n\303`)
	if want := []byte("\xff\x00\r\n\xc3"); !bytes.Equal(o.StdoutB64, want) || o.Stdout != "\ufffd\x00\r\n\ufffd" {
		t.Errorf("%q as %q", o.StdoutB64, o.Stdout)
	}
}

// sleeps reports whether a sleep runs in the machine.
func (r *rig) sleeps(id string) bool {
	r.t.Helper()
	return strings.Contains(r.exec(id, "sh", "-c", "cat /proc/[0-9]*/comm 2>/dev/null").Stdout, "sleep\n")
}

// held waits until the command hold runs.
func (r *rig) held(id string) {
	r.t.Helper()
	r.until("the command runs", func() bool { return r.do("GET", one(id, "/files/held"), "").status == 200 })
}

// A command whose client goes runs on, and is ended with its server.
func TestExecAbandoned(t *testing.T) {
	for _, path := range []string{"/exec", "/exec/stream"} {
		r := newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })
		id := r.up("")
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := r.try(ctx, "POST", one(id, path), `{"command":"touch /held; sleep 1000; touch /after"}`)
			gone <- err
		}()
		r.until("the command runs", func() bool { return r.sleeps(id) })
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if !r.sleeps(id) {
			t.Errorf("%s: the command is gone", path)
		}
		r.restart()
		r.until("the command is ended", func() bool { return !r.sleeps(id) })
		if n := r.s.Boots(id); n != 0 {
			t.Errorf("%d boots", n)
		}
	}
}

// A command's time is over for all that it has started.
func TestExecTimeout(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })
	id := r.up("")
	var o outcome
	r.must(200, "POST", one(id, "/exec"), `{"command":"echo begun; sleep 1000 & sleep 1001","timeoutSeconds":1}`).json(t, &o)
	if o.ExitCode != 124 || o.Stdout != "begun\n" {
		t.Errorf("%+v", o)
	}
	if r.sleeps(id) {
		t.Error("a sleep is left")
	}
	if a := r.must(200, "POST", one(id, "/exec/stream"), `{"command":"sleep 1000","timeoutSeconds":1}`); a.body != "event: exit\ndata: {\"exitCode\":124}\n\n" {
		t.Errorf("%s", a)
	}
}

func TestExecTogether(t *testing.T) {
	r := newRig(t, nil)
	id := r.create("")
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			a, err := r.try(t.Context(), "POST", one(id, "/exec"), `{"command":["echo","x"]}`)
			if err != nil || a.status != 200 || !strings.Contains(a.body, `"stdout":"x\n"`) {
				t.Errorf("%v, %v", a, err)
			}
		})
	}
	all.Wait()
	if n := r.s.Boots(id); n != 1 {
		t.Errorf("%d boots", n)
	}
}

// A machine that dies takes its commands with it, and who waits for them learns of it.
func TestExecOnDyingMachine(t *testing.T) {
	r := newRig(t, nil)
	id := r.up("")
	for path, want := range map[string]string{"/exec": `"status":502`, "/exec/stream": "event: error\ndata: the machine went away"} {
		got := make(chan *answer, 1)
		go func() {
			a, err := r.try(t.Context(), "POST", one(id, path), `{"command":["hold"]}`)
			if err != nil {
				t.Error(err)
				a = &answer{}
			}
			got <- a
		}()
		r.held(id)
		r.must(204, "PUT", one(id, "/files/held"), "")
		r.exec(id, "echo")
		r.must(200, "POST", one(id, "/stop"), "")
		if a := <-got; !strings.Contains(a.body, want) {
			t.Errorf("%s: %s", path, a)
		}
		r.must(200, "POST", one(id, "/start"), "")
	}
}

func TestStream(t *testing.T) {
	r := newRig(t, nil)
	id := r.create("")
	for _, tt := range []struct{ body, want string }{
		{`{"command":["echo","a"]}`, "event: stdout\ndata: a\ndata: \n\nevent: exit\ndata: {\"exitCode\":0}\n\n"},
		{`{"command":["err","a"]}`, "event: stderr\ndata: a\ndata: \n\nevent: exit\ndata: {\"exitCode\":3}\n\n"},
		{`{"command":["cat"],"stdin":"x\r\ny"}`, "event: stdout\ndata: x\rdata: \ndata: y\n\nevent: exit\ndata: {\"exitCode\":0}\n\n"},
		{`{"command":["nope"]}`, "event: stderr\ndata: executable file 'nope' not found in $PATH: No such file or directory\ndata: \n\nevent: exit\ndata: {\"exitCode\":255}\n\n"},
	} {
		for _, path := range []string{"/exec/stream", "/exec"} {
			body := tt.body
			if path == "/exec" {
				body = strings.TrimSuffix(body, "}") + `,"stream":true}`
			}
			if a := r.must(200, "POST", one(id, path), body); a.body != tt.want || a.header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("%s %s: %q, want %q", path, body, a.body, tt.want)
			}
		}
	}
}

// Output comes before the command has ended.
func TestStreamAsItComes(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })
	id := r.up("")
	res, err := r.send(t.Context(), "POST", one(id, "/exec/stream"), strings.NewReader(`{"command":"echo a; read x <$0.never; echo b"}`))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	res, err = r.send(t.Context(), "POST", one(id, "/exec/stream"), strings.NewReader(`{"command":"mkfifo /f; echo a; read x </f; echo $x"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	const first = "event: stdout\ndata: a\ndata: \n\n"
	b := make([]byte, len(first))
	if _, err := io.ReadFull(res.Body, b); err != nil || string(b) != first {
		t.Fatalf("%q, %v", b, err)
	}
	r.exec(id, "sh", "-c", "echo go >/f")
	rest, err := io.ReadAll(res.Body)
	if err != nil || string(rest) != "event: stdout\ndata: go\ndata: \n\nevent: exit\ndata: {\"exitCode\":0}\n\n" {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestSessions(t *testing.T) {
	r := newRig(t, nil)
	id := r.create(`,"env":{"A":"machine","B":"machine","C":"machine"}`)
	sessions := one(id, "/sessions")
	r.must(200, "POST", sessions, `{"id":"s","cwd":"/tmp","env":{"B":"session","C":"session"}}`)
	r.must(409, "POST", sessions, `{"id":"s"}`)
	for _, bad := range []string{`{"id":"a/b"}`, `{"id":".."}`, `{"id":""}`, `{"env":{"":""}}`} {
		r.must(400, "POST", sessions, bad)
	}
	r.must(422, "POST", sessions, `{"cwd":7}`)
	var made struct{ ID string }
	r.must(200, "POST", sessions, `{}`).json(t, &made)
	var o outcome
	r.must(200, "POST", sessions+"/s/exec", `{"command":["env"],"env":{"C":"command"}}`).json(t, &o)
	if want := environment + ";A=machine;B=session;C=command in /tmp as \n"; o.Stdout != want {
		t.Errorf("%q, want %q", o.Stdout, want)
	}
	r.must(200, "POST", sessions+"/s/exec", `{"command":["env"],"cwd":"/"}`).json(t, &o)
	if !strings.HasSuffix(o.Stdout, " in / as \n") {
		t.Errorf("%q", o.Stdout)
	}
	r.restart()
	var list []struct{ ID, MachineID, Status, LastExecAt string }
	r.must(200, "GET", sessions, "").json(t, &list)
	if len(list) != 2 || list[0].ID == list[1].ID || list[0].MachineID != id {
		t.Errorf("%+v", list)
	}
	r.must(204, "DELETE", sessions+"/s", "")
	for _, a := range []*answer{r.do("DELETE", sessions+"/s", ""), r.do("POST", sessions+"/s/exec", `{"command":["env"]}`), r.do("DELETE", sessions+"/..", "")} {
		if a.status != 404 {
			t.Errorf("%s", a)
		}
	}
	r.must(204, "DELETE", sessions+"/"+made.ID, "")
	if a := r.must(200, "GET", sessions, ""); a.body != "[]" {
		t.Errorf("%s", a)
	}
}

func TestCode(t *testing.T) {
	r := newRig(t, nil)
	id := r.create("")
	for lang, want := range map[string]string{"python": "python3", "javascript": "node", "node": "node"} {
		var o outcome
		r.must(200, "POST", one(id, "/code"), `{"language":"`+lang+`","code":"1"}`).json(t, &o)
		if o.ExitCode != 255 || !strings.Contains(o.Stderr, "'"+want+"' not found") {
			t.Errorf("%s: %+v", lang, o)
		}
	}
	for _, body := range []string{`{"language":"perl","code":"1"}`, `{"language":"python"}`, `{"code":"1"}`} {
		r.must(422, "POST", one(id, "/code"), body)
	}
	r.must(400, "POST", one(id, "/code"), `{"language":"python","code":"\u0000"}`)
}

func FuzzCommand(f *testing.F) {
	r := newRig(f, nil)
	id := r.up("")
	for _, s := range []string{`{"command":["echo"]}`, `{"command":"x"}`, `{"command":[]}`, `{"command":["a"],"env":{"A":"b"},"stdin":"x"}`, "[", "\x00", `{"command":"x","timeoutSeconds":1e3}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "hold") {
			return
		}
		a, err := r.try(t.Context(), "POST", one(id, "/exec"), body)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case a.status == 200 && strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream"):
		case !json.Valid([]byte(a.body)):
			t.Errorf("%q: no JSON: %s", body, a)
		case a.status != 200 && a.status != 400 && a.status != 422:
			t.Errorf("%q: %s", body, a)
		}
	})
}
