package local

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/disks"
	"github.com/smol-machines/smol-go/internal/sim/environ"
	"github.com/smol-machines/smol-go/internal/sim/serde"
)

type backend string

// Variants are the network backends.
func (backend) Variants() []string { return []string{"tsi", "virtio-net"} }

type restartSpec struct {
	Policy     *string `serde:"policy"`
	MaxRetries *uint32 `serde:"maxRetries"`
}

// createMachineRequest has the fields in the order in which an unknown one is told what there is.
type createMachineRequest struct {
	Name          *string              `serde:"name"`
	CPUs          *uint8               `serde:"cpus"`
	MemoryMB      *uint32              `serde:"memoryMb"`
	Mounts        []mountSpec          `serde:"mounts,default"`
	Ports         []port               `serde:"ports,default"`
	Network       bool                 `serde:"network,default"`
	Backend       *backend             `serde:"networkBackend"`
	AllowedCIDRs  *[]string            `serde:"allowedCidrs"`
	AllowedHosts  *[]string            `serde:"allowedHosts"`
	StorageGB     *uint64              `serde:"storageGb"`
	OverlayGB     *uint64              `serde:"overlayGb"`
	GPU           bool                 `serde:"gpu,default"`
	CUDA          bool                 `serde:"cuda,default"`
	AutoGraph     bool                 `serde:"autoGraph,default"`
	DockerSocket  bool                 `serde:"dockerSocket,default"`
	Image         *string              `serde:"image"`
	From          *string              `serde:"from"`
	RegistryRef   *string              `serde:"registryRef"`
	IdentityToken *string              `serde:"registryIdentityToken"`
	BlobPeers     []string             `serde:"blobPeers,default"`
	Entrypoint    []string             `serde:"entrypoint,default"`
	Cmd           []string             `serde:"cmd,default"`
	Env           []envVar             `serde:"env,default"`
	Workdir       *string              `serde:"workdir"`
	Restart       *restartSpec         `serde:"restart"`
	Secrets       map[string]secretRef `serde:"secrets,default"`
	BlockIO       *string              `serde:"blockIo"`
	NestedVirt    bool                 `serde:"nestedVirt,default"`
}

func (c *call) create() (any, error) {
	var req createMachineRequest
	if err := c.decode(&req, &serde.Options{DenyUnknown: c.version.deniesUnknown()}); err != nil {
		return nil, err
	}
	rec, err := c.checkCreate(&req)
	if err != nil {
		return nil, err
	}
	release, err := c.reserve(rec.Name)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := c.build(&req, rec); err != nil {
		_ = c.discard(rec.Name)
		return nil, err
	}
	m, err := c.insert(rec, true)
	if err != nil {
		_ = c.discard(rec.Name)
		return nil, err
	}
	return m.info(c.ctx), nil
}

// checkCreate does the checks before the name is reserved, in their order, and returns the record that they lead to.
func (c *call) checkCreate(req *createMachineRequest) (*record, error) {
	if err := checkSource(req); err != nil {
		return nil, err
	}
	rec := &record{
		Name: valueOr(req.Name, ""), State: stateCreated, CreatedAt: time.Now().Unix(), CPUs: valueOr(req.CPUs, 4), MemoryMB: valueOr(req.MemoryMB, 8192),
		StorageGB: valueOr(req.StorageGB, 20), OverlayGB: valueOr(req.OverlayGB, 10), Ports: req.Ports, Network: req.Network,
		AllowedHosts: req.AllowedHosts, GPU: req.GPU, CUDA: req.CUDA || req.AutoGraph, Image: valueOr(req.Image, ""),
		Argv: append(req.Entrypoint, req.Cmd...), Workdir: valueOr(req.Workdir, ""),
	}
	if req.Backend != nil {
		b := string(*req.Backend)
		rec.Backend = &b
	}
	if req.Name == nil {
		rec.Name = randomName()
	} else if wrong := checkName("machine name", rec.Name); wrong != "" {
		return nil, badRequest("%s", wrong)
	}
	for _, m := range req.Mounts {
		rec.Mounts = append(rec.Mounts, mount(m))
	}
	if err := checkMounts(rec.Mounts); err != nil {
		return nil, badRequest("%v", err)
	}
	if err := checkPorts(req.Ports); err != nil {
		return nil, err
	}
	var err error
	if rec.AllowedCIDRs, err = normaliseCIDRs(req.AllowedCIDRs); err != nil {
		return nil, err
	}
	if err := c.checkFrom(req, rec); err != nil {
		return nil, err
	}
	return rec, checkResources(rec)
}

// checkSource are the checks that concern what the machine is made from.
func checkSource(req *createMachineRequest) error {
	sources := 0
	for _, s := range []*string{req.Image, req.From, req.RegistryRef} {
		if s != nil {
			sources++
		}
	}
	switch {
	case sources > 1:
		return badRequest("'registryRef', 'from', and 'image' are mutually exclusive")
	case len(req.Ports) > 0 && req.Backend != nil && *req.Backend == "tsi":
		return badRequest("published ports require networkBackend 'virtio-net' (TSI is outbound-only); omit networkBackend or set it to 'virtio-net'")
	case req.RegistryRef != nil:
		return checkRegistry(*req.RegistryRef, req.IdentityToken != nil)
	case sources == 0 && len(req.Entrypoint)+len(req.Cmd) > 0:
		return badRequest("cmd/entrypoint require an image, from, or registryRef; an imageless machine has no workload to launch them in (use exec instead)")
	}
	return nil
}

// checkFrom reads the shape of a checkpoint that the machine is to be restored from.
func (c *call) checkFrom(req *createMachineRequest, rec *record) error {
	if req.From == nil {
		return nil
	}
	f, err := os.Open(*req.From)
	if err != nil {
		if os.IsNotExist(err) {
			return badRequest("sidecar file not found: %s", *req.From)
		}
		return internal("read .smolmachine: %v", err)
	}
	defer f.Close()
	from := &record{}
	if err := disks.ReadShape(bufio.NewReader(f), from); err != nil || !c.version.checkpoints() {
		return internal("read .smolmachine: not a machine archive: %s", *req.From)
	}
	rec.restore(from)
	return nil
}

func checkResources(rec *record) error {
	const prefix = "config operation failed: validate resources: "
	switch {
	case rec.CPUs == 0:
		return badRequest(prefix + "CPU count must be at least 1")
	case rec.MemoryMB < 64:
		return badRequest(prefix+"memory must be at least 64 MiB (got %d MiB)", rec.MemoryMB)
	case rec.StorageGB == 0:
		return badRequest(prefix + "storage disk size must be greater than 0 GiB")
	case rec.OverlayGB == 0:
		return badRequest(prefix + "overlay disk size must be greater than 0 GiB")
	}
	return nil
}

// reserve takes the name until release is called.
func (s *Server) reserve(name string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.machines[name]; m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.registered {
			return nil, conflict("machine '%s' already exists or is being created", name)
		}
		return nil, conflict("machine '%s' already exists", name)
	}
	if s.reserved[name] {
		return nil, conflict("machine '%s' is being created by another request", name)
	}
	s.reserved[name] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.reserved, name)
	}, nil
}

// build makes the data directory and does the checks that come after it.
func (c *call) build(req *createMachineRequest, rec *record) error {
	if err := c.store.Prepare(rec.Name); err != nil {
		return internal("io operation failed: %v", err)
	}
	if req.From != nil {
		if err := unpack(*req.From, c.store.Guest(rec.Name)); err != nil {
			return internal("extract .smolmachine: %v", err)
		}
	}
	if err := checkSecrets(req.Secrets); err != nil {
		return err
	}
	env, err := variables(req.Env)
	if err != nil {
		return err
	}
	rec.Env = environ.Overlay(rec.Env, env)
	if req.Restart != nil {
		rec.MaxRetries = valueOr(req.Restart.MaxRetries, 0)
		if rec.Restart, err = restartPolicy(valueOr(req.Restart.Policy, "never")); err != nil {
			return err
		}
	}
	for _, m := range rec.Mounts {
		if remote(m.Source) && (rec.Image == "" || !rec.networked()) {
			return badRequest("config operation failed: create machine: remote volumes require an image that has rclone and fusermount3, and networking")
		}
	}
	if image := valueOr(req.Image, ""); req.Image != nil && !rec.networked() && !localImage(image) && !c.version.pullsOffline() {
		return badRequest("config operation failed: create machine: image '%s' must be pulled from a registry, but this machine has no network, so the pull can never succeed. "+
			"Add --net (or publish a port with -p, or set an egress policy with --allow-cidr/--allow-host). To keep the machine network-isolated, supply the image locally instead: "+
			"`docker save %s | smolvm machine create --image - ...`", image, image)
	}
	return nil
}

func restartPolicy(s string) (string, error) {
	switch strings.ToLower(s) {
	case "never":
		return "", nil
	case "always":
		return "always", nil
	case "on-failure", "onfailure":
		return "on-failure", nil
	case "unless-stopped", "unlessstopped":
		return "unless-stopped", nil
	}
	return "", badRequest("invalid restart policy: %s", s)
}

// insert writes the record of a new machine and makes the machine known.
func (s *Server) insert(rec *record, registered bool) (*machine, error) {
	if err := s.store.Save(rec); err != nil {
		return nil, internal("database error: %v", err)
	}
	m := &machine{s: s, name: rec.Name, life: make(gate, 1), rec: *rec, registered: registered}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machines[rec.Name] = m
	return m, nil
}

func valueOr[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(slices.Clip(list), s)
}
