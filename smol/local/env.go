package local

import (
	"os"
	"path/filepath"
	"runtime"
)

// EnvURL is the environment variable that says where the service listens; see [OptionsFromEnv].
const EnvURL = "SMOL_LOCAL_URL"

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
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" && goos == "linux" {
		path := filepath.Join(dir, "smolvm.sock")
		if _, err := os.Stat(path); err == nil {
			return "unix://" + path
		}
	}
	return defaultURL(goos)
}

func defaultURL(goos string) string {
	if goos == "windows" {
		return "http://127.0.0.1:8080"
	}
	return "unix:///tmp/smolvm.sock"
}
