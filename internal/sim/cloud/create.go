package cloud

import (
	"errors"
	"net/http"
	"strings"

	"github.com/smol-machines/smol-go/internal/randhex"
)

type sourceType string

// Variants are what a machine can be made of.
func (sourceType) Variants() []string { return []string{"image", "smolmachine"} }

type machineSource struct {
	Type      sourceType `serde:"type"`
	Reference string     `serde:"reference"`
	Arch      *string    `serde:"arch"`
}

type durability string

// Variants are how safe a disk is.
func (durability) Variants() []string { return []string{"full", "deferred"} }

type machineResources struct {
	CPUs       *uint32     `serde:"cpus"`
	MemoryMB   *uint32     `serde:"memoryMb"`
	DiskGB     *uint64     `serde:"diskGb"`
	Durability *durability `serde:"diskDurability"`
}

type networkMode string

// Variants are the modes of a network.
func (networkMode) Variants() []string { return []string{modeBlocked, modeOpen, modeAllow} }

type machineNetwork struct {
	Mode  networkMode `serde:"mode"`
	CIDRs *[]string   `serde:"cidrs"`
	Hosts *[]string   `serde:"hosts"`
}

type portSpec struct {
	Port uint16 `serde:"port"`
}

type mountSpec struct {
	Volume    string `serde:"volume"`
	MountPath string `serde:"mountPath"`
	ReadOnly  bool   `serde:"readonly,default"`
}

type remoteMount struct {
	Source    string `serde:"source"`
	MountPath string `serde:"mountPath"`
	ReadOnly  bool   `serde:"readonly,default"`
}

type cacheDiskRef struct {
	Cache     string  `serde:"cache"`
	Version   *uint64 `serde:"version"`
	MountPath *string `serde:"mountPath"`
	Slot      bool    `serde:"slot,default"`
}

type createMachineRequest struct {
	Source       machineSource      `serde:"source"`
	Name         *string            `serde:"name"`
	Resources    *machineResources  `serde:"resources"`
	Network      *machineNetwork    `serde:"network"`
	Env          *map[string]string `serde:"env"`
	Workdir      *string            `serde:"workdir"`
	Command      *[]string          `serde:"command"`
	Ports        *[]portSpec        `serde:"ports"`
	Public       bool               `serde:"public,default"`
	Mounts       *[]mountSpec       `serde:"mounts"`
	RemoteMounts *[]remoteMount     `serde:"remoteMounts"`
	Labels       *map[string]string `serde:"labels"`
	Credentials  *[]string          `serde:"credentials"`
	CacheDisk    *cacheDiskRef      `serde:"cacheDisk"`
	Branchable   bool               `serde:"branchable|forkable,default"`
	NestedVirt   bool               `serde:"nestedVirt,default"`
	Ephemeral    bool               `serde:"ephemeral,default"`
	AutoStop     *uint64            `serde:"autoStopSeconds"`
	TTL          *uint64            `serde:"ttlSeconds"`
}

// sourceHint helps who has forgotten it.
const sourceHint = `; a machine needs a source, such as {"type":"image","reference":"alpine:3.20"} ` +
	`or {"type":"smolmachine","reference":"tenants/<tenant>/group:v1","arch":"amd64"}`

func (c *call) create() (any, error) {
	var req createMachineRequest
	if err := c.decode(&req); err != nil {
		var f *failure
		if errors.As(err, &f) && strings.Contains(f.text, "missing field `source`") {
			f.text += sourceHint
		}
		return nil, err
	}
	rec, err := c.checkCreate(&req)
	if err != nil {
		return nil, err
	}
	if err := c.payable(); err != nil {
		return nil, err
	}
	if err := c.fits(&rec.Resources); err != nil {
		return nil, err
	}
	m, err := c.insert(rec)
	if err != nil {
		return nil, err
	}
	return reply{http.StatusCreated, m.json()}, nil
}

// checkCreate returns the record that a request leads to.
func (c *call) checkCreate(req *createMachineRequest) (*record, error) {
	rec := &record{
		Account: c.who.account, State: stateStopped, Env: valueOr(req.Env, map[string]string{}), Workdir: req.Workdir,
		Command: valueOr(req.Command, nil), Public: req.Public, Labels: valueOr(req.Labels, map[string]string{}),
		Credentials: valueOr(req.Credentials, nil), Branchable: req.Branchable, Ephemeral: req.Ephemeral,
		AutoStop: valueOr(req.AutoStop, 0), TTL: valueOr(req.TTL, 0), HasAutoStop: req.AutoStop != nil, HasTTL: req.TTL != nil,
	}
	if req.NestedVirt && !c.o.NestedVirt {
		return nil, &failure{http.StatusUnprocessableEntity, "nested_virt_unavailable", "nested virtualization is not offered here"}
	}
	var err error
	if rec.Source, err = c.checkSource(&req.Source); err != nil {
		return nil, err
	}
	if rec.Network, err = c.checkNetwork(req.Network, c.o.DefaultNetwork); err != nil {
		return nil, err
	}
	if rec.Resources, err = checkResources(req.Resources); err != nil {
		return nil, err
	}
	if rec.Ports, err = checkPorts(valueOr(req.Ports, nil)); err != nil {
		return nil, err
	}
	if rec.Labels, err = c.checkLabels(rec.Labels); err != nil {
		return nil, err
	}
	if err := checkEnv(rec.Env); err != nil {
		return nil, err
	}
	if err := c.credentialsThere(rec); err != nil {
		return nil, badRequest("%v", err)
	}
	if err := c.rebase(rec); err != nil {
		return nil, badRequest("%v", err)
	}
	if rec.Cache, err = c.useCache(req.CacheDisk); err != nil {
		return nil, err
	}
	if req.Name != nil {
		rec.Name = *req.Name
		err = checkName(rec.Name)
	} else {
		rec.Name = "machine-" + randhex.String(4)
	}
	return rec, err
}
