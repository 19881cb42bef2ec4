package sandbox

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// explain makes the error of a step that failed.
func (g *Guest) explain(step string, err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return &Error{Step: step, Err: err, Remedy: remedy(step, err, readSysctl)}
}

// readSysctl returns a value below /proc/sys, or "".
func readSysctl(name string) string {
	b, _ := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	return strings.TrimSpace(string(b))
}

const (
	remedyEngine = "start the container with its seccomp profile off: --security-opt seccomp=unconfined"
	remedyProc   = "something covers a part of the host's /proc, as container engines do: start the container with --security-opt systempaths=unconfined (docker) or unmask=ALL (podman)"
	remedyKernel = "Linux 5.12 or newer with user namespaces is needed"
	remedySearch = "every directory above it must be searchable by others, and what is in it readable"
)

// remedy returns what can be done about a failed step. The answers are those of the kernel, of distributions and of container
// engines, which all report the same few error numbers; the sysctls tell them apart.
func remedy(step string, err error, sysctl func(string) string) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return ""
	}
	denied := errno == unix.EPERM || errno == unix.EACCES
	switch {
	case errno == unix.ENOSYS || errno == unix.EINVAL && step == "create process":
		return remedyKernel
	case errno == unix.EMFILE || errno == unix.ENFILE:
		return "too many files are open: raise ulimit -n"
	case step == "create process" && errno == unix.ENOSPC:
		return "user.max_user_namespaces is " + sysctl("user.max_user_namespaces") + ": sysctl -w user.max_user_namespaces=10000; if it is not low, another sysctl of user.max_*_namespaces is"
	case step == "create process" && errno == unix.EAGAIN:
		return "too many processes: raise ulimit -u"
	case denied && step == "create process" && sysctl("kernel.unprivileged_userns_clone") == "0":
		return "sysctl -w kernel.unprivileged_userns_clone=1"
	case denied && sysctl("kernel.apparmor_restrict_unprivileged_userns") == "1" && beforeProc(step):
		return "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	case denied && step == "create process":
		return remedyEngine + "; and this program's file must be executable by others"
	case denied && step == "mount /proc":
		return remedyProc
	case denied && beforeProc(step):
		return "a security module forbids mounts: in a container --security-opt apparmor=unconfined"
	case denied && (strings.HasPrefix(step, "bind ") || strings.HasPrefix(step, "make ")):
		return remedySearch
	}
	return ""
}

// beforeProc reports whether the step is one of those that a namespace without rights fails at.
func beforeProc(step string) bool {
	return step == "create process" || step == "make mounts private" || step == "bind root" || step == "mount /proc"
}
