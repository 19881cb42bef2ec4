package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// defaultPath is the PATH of a command that has none in its environment.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// checkDir returns why a command cannot work in dir.
func checkDir(dir string) error {
	fi, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return &os.PathError{Op: "chdir", Path: dir, Err: syscall.ENOTDIR}
	}
	return nil
}

// lookPath finds a program as execvp does, with the PATH of env and relative names taken from dir.
func lookPath(program, dir string, env []string) (string, error) {
	if strings.Contains(program, "/") {
		return program, checkProgram(absolute(dir, program))
	}
	if program == "" {
		return "", &os.PathError{Op: "exec", Path: program, Err: syscall.ENOENT}
	}
	var denied error
	for _, d := range filepath.SplitList(pathOf(env)) {
		file := filepath.Join(absolute(dir, d), program)
		err := checkProgram(file)
		if err == nil {
			return file, nil
		}
		if os.IsPermission(err) && denied == nil {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", &os.PathError{Op: "exec", Path: program, Err: syscall.ENOENT}
}

func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

func pathOf(env []string) string {
	path := defaultPath
	for _, e := range env { // the last one counts, as in the command itself
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	return path
}

// checkProgram returns why file cannot be executed, as far as that can be told beforehand.
func checkProgram(file string) error {
	fi, err := os.Stat(file)
	if err != nil {
		return err
	}
	if fi.IsDir() || fi.Mode()&0o111 == 0 {
		return &os.PathError{Op: "exec", Path: file, Err: syscall.EACCES}
	}
	return nil
}
