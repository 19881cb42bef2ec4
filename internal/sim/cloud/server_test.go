package cloud_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/script"
	"github.com/smol-machines/smol-go/internal/simtest"
)

// A shutdown waits for what is in flight, for as long as it may.
func TestShutdown(t *testing.T) {
	var p *pulls
	r := newRig(t, func(o *cloud.Options) { p = newPulls(o) })
	id := r.create("")
	got := make(chan *answer, 1)
	go func() {
		a, err := r.try(context.Background(), "POST", one(id, "/start"), "")
		if err != nil {
			a = &answer{body: err.Error()}
		}
		got <- a
	}()
	<-p.asked
	ended := make(chan error, 1)
	go func() { ended <- r.s.Shutdown(context.Background()) }()
	r.until("nobody is let in any more", func() bool {
		_, err := r.try(context.Background(), "GET", "/health", "")
		return err != nil
	})
	close(p.go1)
	if a := <-got; a.status != 200 {
		t.Errorf("%s", a)
	}
	if err := <-ended; err != nil {
		t.Errorf("%v", err)
	}
	<-r.served
	r.start()
	if got := r.state(id); got != "started" {
		t.Errorf("%s", got)
	}
}

func TestShutdownCutsOff(t *testing.T) {
	r := newRig(t, nil)
	id := r.up("")
	got := make(chan error, 1)
	go func() {
		_, err := r.try(context.Background(), "POST", one(id, "/exec"), `{"command":["hold"]}`)
		got <- err
	}()
	r.held(id)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := r.s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := <-got; err == nil {
		t.Error("a command that was cut off succeeds")
	}
	<-r.served
	w := newReply()
	func() {
		defer func() {
			if recover() != http.ErrAbortHandler {
				t.Error("a closed server answers")
			}
		}()
		r.s.ServeHTTP(w, newRequest(t, "GET", "/health", ""))
	}()
	r.start()
}

// A boot that its server does not live to see leaves a machine that is stopped and nothing that runs.
func TestCloseWhileBooting(t *testing.T) {
	var p *pulls
	r := newRig(t, func(o *cloud.Options) { p = newPulls(o) })
	id := r.create("")
	r.must(202, "POST", one(id, "/start?detach=true"), "")
	<-p.asked
	r.restart()
	if m := r.get(id); m.State != "stopped" || m.Error != "" {
		t.Errorf("%+v", m)
	}
	close(p.go1)
	r.must(200, "POST", one(id, "/start"), "")
}

func TestRequests(t *testing.T) {
	r := newRig(t, nil)
	id := r.create("")
	r.must(404, "GET", "/v1/machines/none", "")
	if n := r.s.Count("GET", "/v1/machines/*"); n != 1 {
		t.Errorf("%d counted", n)
	}
	r.s.ForgetRequests()
	r.must(200, "GET", one(id, ""), "")
	if q := r.s.Requests(); len(q) != 1 || q[0].Status != 200 || q[0].Path != one(id, "") {
		t.Errorf("%+v", q)
	}
}

// What cannot be read is not passed over.
func TestBrokenData(t *testing.T) {
	for _, name := range []string{"records/x.json", "checkpoints/c/checkpoint.json", "caches/c/cache.json", "credentials.json"} {
		dir := t.TempDir()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("{half"), 0o600)); err != nil {
			t.Fatal(err)
		}
		s, err := cloud.New(&cloud.Options{Guest: script.New(nil), DataDir: dir, Token: "k"})
		if err == nil {
			s.Close()
			t.Errorf("%s: it is not noticed", name)
		}
	}
	if _, err := cloud.New(&cloud.Options{Guest: script.New(nil), DataDir: filepath.Join(os.DevNull, "x"), Token: "k"}); err == nil {
		t.Error("a directory that cannot be made")
	}
}

// A capture or an upload that its server did not live to see has failed.
func TestUnfinishedCheckpoints(t *testing.T) {
	r := newRig(t, nil)
	var begun struct{ Checkpoint point }
	r.must(201, "POST", "/v1/checkpoints", `{"sizeBytes":10}`).json(t, &begun)
	r.restart()
	path := "/v1/checkpoints/" + begun.Checkpoint.ID
	if a := r.must(200, "GET", path, ""); !strings.Contains(a.body, `"status":"failed"`) {
		t.Errorf("%s", a)
	}
	r.must(409, "POST", path+"/complete", "")
	r.must(204, "DELETE", path, "")
}

// What a program cannot be started for is told on its standard error, as the machine's runtime does.
func TestNotStarted(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })
	id := r.up("")
	r.must(204, "PUT", one(id, "/files/root/plain"), "no program")
	r.exec(id, "sh", "-c", "printf nonsense >/root/nonsense; chmod +x /root/nonsense")
	for body, want := range map[string]string{
		`{"command":["/root/plain"]}`:                                "open executable '/root/plain': Permission denied\n",
		`{"command":["/root/none"]}`:                                 "executable file '/root/none' not found in $PATH: No such file or directory\n",
		`{"command":["/root/nonsense"]}`:                             "exec '/root/nonsense': exec format error\n",
		`{"command":["true"],"cwd":"/none"}`:                         "chdir to '/none': No such file or directory\n",
		`{"command":["true"],"user":"no-such-user"}`:                 "user 'no-such-user': ",
		`{"command":["true","` + strings.Repeat("x", 200000) + `"]}`: "exec 'true': argument list too long\n",
	} {
		var o outcome
		r.must(200, "POST", one(id, "/exec"), body).json(t, &o)
		if o.ExitCode != 255 || !strings.HasPrefix(o.Stderr, want) {
			t.Errorf("%.60s: %+v", body, o)
		}
	}
}
