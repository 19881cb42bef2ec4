//go:build linux || darwin

package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/smol-machines/smol-go/internal/serve"
)

// role is set in the environment of a test binary that is to be something else.
const role = "SERVE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "smolvm":
		os.Exit(smolvm())
	case "supervisor":
		os.Exit(supervisor())
	case "planter":
		os.Exit(planter())
	case "starved":
		os.Exit(starved())
	}
	goleak.VerifyTestMain(m)
}

// smolvm is `smolvm serve start --listen ADDR`, with nothing to serve but its health. It notes in its data directory that it runs, and
// whether another one did.
func smolvm() int {
	data := os.Getenv("SMOLVM_DATA_DIR")
	note := func(word string) {
		f, err := os.OpenFile(filepath.Join(data, "journal"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, word, os.Getpid())
			_ = f.Close()
		}
	}
	note("start")
	lock, err := os.OpenFile(filepath.Join(data, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil || syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		note("second")
	}
	if err := os.WriteFile(filepath.Join(data, "environ"), []byte(strings.Join(os.Environ(), "\n")), 0o600); err != nil {
		return 1
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	mode := os.Getenv("SMOLVM_TEST_MODE")
	switch mode {
	case "fails":
		fmt.Fprintln(os.Stderr, "Error: the database is of a later release")
		return 3
	case "hangs":
		fmt.Fprintln(os.Stderr, "thinking")
		<-stop
		return 0
	}
	rollout, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("SMOLVM_GUEST_ROLLOUT_HOST_PORT"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	defer rollout.Close()
	network, address := "tcp", os.Args[len(os.Args)-1]
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		network, address = "unix", path
		_ = os.Remove(path)
	}
	l, err := net.Listen(network, address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	fmt.Println("smolvm API server listening on", os.Args[len(os.Args)-1])
	go http.Serve(l, health(os.Getenv("SMOLVM_TEST_RELEASE")))
	<-stop
	if mode == "stubborn" {
		<-time.After(time.Hour)
	}
	_ = l.Close()
	return 0
}

func health(version string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"status": "ok", "version": version})
	})
}

// supervisor is a program that uses a serve until it is told to close, and stops for ever at one of the steps.
func supervisor() int {
	c := config(os.Getenv("DIR"), os.Environ())
	step := os.Getenv("STEP")
	c.Step = func(name string) {
		if name == step {
			fmt.Println("at", name)
			<-time.After(time.Hour)
		}
	}
	lease := newLease(c)
	u, err := lease.Get(context.Background())
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("uses", u.Process.PID)
	bufio.NewScanner(os.Stdin).Scan()
	fmt.Println("closed", lease.Close())
	return 0
}

// planter listens at a socket as a user who has no business there.
func planter() int {
	if err := syscall.Setuid(65534); err != nil {
		fmt.Println(err)
		return 1
	}
	l, err := net.Listen("unix", os.Getenv("SOCKET"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("listens")
	_ = http.Serve(l, health("1.99.0"))
	return 0
}

// starved says whether its parent lives, and whether a process lives that has ended, before and while it has no files to open.
func starved() int {
	alive, err := serve.Identify(os.Getppid())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	dead := serve.Process{PID: alive.PID, Start: "x"}
	fmt.Println(alive.Alive(), dead.Alive())
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}); err != nil {
		fmt.Println(err)
		return 1
	}
	for err == nil {
		_, err = os.Open(os.DevNull)
	}
	fmt.Println(alive.Alive(), err != nil)
	return 0
}
