// Package sandbox makes machines without a hypervisor: a machine is a directory tree and a process tree in Linux
// namespaces of its own, made in a few milliseconds, as root or as an ordinary user. It is a place to run commands in for
// tests and for trying things out, not isolation for hostile code.
//
// # Shape
//
// Process 1 of a machine is this program executed again: it makes the mounts, changes the root, closes every descriptor that
// leads out, and goes on as the agent, which starts commands, reaps orphans and answers on a Unix socket in the state
// directory. Every other process of the machine is its child, so killing it ends the machine. Descriptors go through
// that socket, and the bytes of commands and files never pass through the agent. The machine goes on when the program
// that made it ends or is killed, and another one adopts it from the state directory.
//
// Nothing ever runs on the host instead: when a step of the set-up fails, [Guest.Boot] returns an [*Error] that names the
// step, the cause and the remedy, and no process is left.
//
// # State directory
//
//	root/        the root directory, kept
//	workspace/   shown at /workspace, kept
//	boot_id      the boot identity, new at each start
//	agent.sock   where the agent listens
//
// The socket is reached through a descriptor of the directory (/proc/self/fd/N/agent.sock), so the depth of the directory does not
// matter, although the address of a Unix socket has only 108 bytes. /tmp, /run and /dev/shm are in memory and begin empty.
//
// # Images
//
// There is no registry. The name of the image chooses what the machine is made of:
//
//   - none, and any name not listed here: the host's /usr, read-only
//   - busybox, alpine: nothing but a static busybox with its applets, writable
//   - golang: the host's /usr, and the host's Go tree, read-only, in the PATH
//   - dash, bash: the host's /usr with that shell as /bin/sh
//   - distroless, noshell and names containing scratch: cat, echo, sleep, true and false, and no shell
//   - names containing missing: fails with [sim.ErrNoImage], as a pull of it would
//
// # Users
//
// Root in the machine is never root on the host. When the program runs as root, the ids 0 to 65535 of the machine are the ids from
// 100000 on of the host; when it runs as an ordinary user, root is that user and the machine has no other ids, so a command
// for another user is refused with [sim.ErrNoUser].
//
// A host directory that is mounted in the machine keeps its owners where the kernel can translate them (it does on ext4, XFS, Btrfs
// and tmpfs from Linux 6.3 on): what root in the machine writes there belongs to the host's root when the program runs
// as root. Where it cannot, the directory is shown as it is and belongs to nobody in the machine, which the console tells;
// then it can be written only if it is writable for everybody. A host directory below one that others cannot search is
// reachable either way, unless the program is a root without CAP_SYS_ADMIN: then Boot fails and names the mount. The
// read-only flag holds against mistakes: root in a machine could mount anew.
//
// # What it cannot give
//
// Limits of CPU, memory and disk (accidents are bounded: 4096 processes a machine, a size on each file system in memory); any network
// beyond the machine's own loopback; writes to /usr; memory in a branch. Paths of the host are visible in
// /proc/self/mountinfo.
package sandbox
