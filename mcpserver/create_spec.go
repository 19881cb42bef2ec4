package mcpserver

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// ephemeralName returns a fresh name of a machine that goes with its session.
func (c *call) ephemeralName() string { return c.config().MachinePrefix + newID() }

// specOf returns what create-machine asks the library for. What only the local fleet has is refused by name on the other.
func (c *call) specOf(in createMachineArgs) (*smol.Spec, error) {
	spec := &smol.Spec{
		Name: in.Name, Image: in.Image, Command: in.Cmd, Env: in.Env, Network: in.network(), Branchable: in.Branchable,
		Resources: smol.Resources{CPUs: in.CPUs, MemoryMiB: in.MemoryMB, DiskGiB: in.StorageGB, OverlayGiB: in.OverlayGB},
	}
	if spec.Name == "" {
		spec.Name = c.ephemeralName()
	}
	if c.target == TargetCloud {
		if err := localOnly(in); err != nil {
			return nil, err
		}
	}
	for _, p := range in.Ports {
		spec.Ports = append(spec.Ports, smol.Port{Guest: p.Guest, Host: p.Host})
	}
	for i, m := range in.Mounts {
		source, code, why := c.mountSource(m.Source)
		if why != "" {
			return nil, fail(code, "mounts[%d].source: %s", i, why).hint("The server's mountRoots say what can be mounted; copy files with write-file instead.")
		}
		spec.Mounts = append(spec.Mounts, smol.Mount{Source: source, Target: m.Target, ReadOnly: m.Readonly})
	}
	return spec, nil
}

// localOnly refuses what the cloud has not.
func localOnly(in createMachineArgs) error {
	refuse := func(what string) error {
		return fail(CodeUnsupported, "%s is for the local fleet only", what).hint("Leave it out for a machine in the cloud.")
	}
	switch {
	case len(in.Mounts) > 0:
		return refuse("mounts")
	case in.OverlayGB != 0:
		return refuse("overlayGb")
	}
	for i, p := range in.Ports {
		if p.Host != 0 {
			return refuse("ports[" + strconv.Itoa(i) + "].host")
		}
	}
	return nil
}

// mountSource returns the directory that source means, with symbolic links resolved, if it lies below a root that may be mounted;
// else why not.
func (c *call) mountSource(source string) (real string, code ErrorCode, why string) {
	if !filepath.IsAbs(source) || strings.ContainsRune(source, 0) {
		return "", CodeInvalid, "not an absolute directory"
	}
	const elsewhere = "not below a directory that may be mounted, or not there"
	real, err := filepath.EvalSymlinks(source)
	if err != nil {
		return "", CodeForbidden, elsewhere // and no word of what there is outside
	}
	for _, root := range c.config().MountRoots {
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(rel) {
			if st, err := os.Stat(real); err != nil || !st.IsDir() {
				return "", CodeInvalid, "not a directory"
			}
			return real, "", ""
		}
	}
	return "", CodeForbidden, elsewhere
}

// seconds returns d as a number of seconds.
func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }
