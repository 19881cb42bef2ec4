package local

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/smol-machines/smol-go/internal/private"
)

// EnvURL is the environment variable that says where the service listens; see [OptionsFromEnv] and [ServeOptionsFromEnv].
const EnvURL = "SMOL_LOCAL_URL"

// EnvProgram is the environment variable that names smolvm, or what stands in for it; see [ServeOptionsFromEnv].
const EnvProgram = "SMOLVM"

// OptionsFromEnv returns options with the URL that the environment asks for. The first of these counts:
//
//  1. SMOL_LOCAL_URL, in any form that [Options].URL takes;
//  2. smolvm.sock in the directory XDG_RUNTIME_DIR names, if it exists there (Linux);
//  3. smolvm's default: /tmp/smolvm.sock, or http://127.0.0.1:8080 on Windows.
func OptionsFromEnv() *Options {
	return &Options{URL: envURL(runtime.GOOS, os.Getenv)}
}

func envURL(goos string, getenv func(string) string) string {
	if url := getenv(EnvURL); url != "" {
		return url
	}
	// smolvm looks at the variable on Linux only.
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && goos == "linux" {
		path := filepath.Join(dir, "smolvm.sock")
		if _, err := os.Stat(path); err == nil {
			return "unix://" + path
		}
	}
	return defaultURL(goos)
}

// ServeOptionsFromEnv returns options with what the environment says.
//
//   - Program is SMOLVM, else smolvm.
//   - URL is SMOL_LOCAL_URL.
//   - Adopt is where smolvm listens by default: smolvm.sock in the directory XDG_RUNTIME_DIR names (Linux) and /tmp/smolvm.sock; on Windows
//     http://127.0.0.1:8080.
//   - Dir is smol-mcp in the directory XDG_RUNTIME_DIR names, else the default of [ServeOptions].
//   - Env is the whole of it.
func ServeOptionsFromEnv() *ServeOptions {
	return &ServeOptions{
		Program: os.Getenv(EnvProgram), URL: os.Getenv(EnvURL), Adopt: usual(runtime.GOOS, os.Getenv),
		Dir: runtimeDir(runtime.GOOS, os.Getenv, os.TempDir(), userCache(), os.Getuid()), Env: os.Environ(),
	}
}

// environ is Env or its default.
func (o *ServeOptions) environ() []string {
	if o.Env != nil {
		return slices.Clone(o.Env)
	}
	return os.Environ()
}

// usual is where smolvm listens when nobody says otherwise.
func usual(goos string, getenv func(string) string) []string {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && goos == "linux" {
		// Nobody listens where there can be no socket, since the path is too long for one.
		if e, err := parseEndpoint("unix://"+filepath.Join(dir, "smolvm.sock"), goos); err == nil {
			return []string{e.url, defaultURL(goos)}
		}
	}
	return []string{defaultURL(goos)}
}

// runtimeDir is the default of ServeOptions.Dir; temp and cache are the system's directories.
func runtimeDir(goos string, getenv func(string) string, temp, cache string, uid int) string {
	base := getenv("XDG_RUNTIME_DIR")
	if goos == "windows" {
		base = cache
	}
	return private.RuntimeDir(base, temp, uid)
}

// userCache is %LocalAppData% on Windows.
func userCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return dir
}

func defaultURL(goos string) string {
	if goos == "windows" {
		return "http://127.0.0.1:8080"
	}
	return "unix:///tmp/smolvm.sock"
}
