package cloud

import (
	"bufio"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/smol-machines/smol-go/internal/randhex"
	"github.com/smol-machines/smol-go/internal/sim/disks"
)

// defaultPart is the size of the parts of an upload, and maxParts how many there may be.
const (
	defaultPart = 8 << 20
	maxParts    = 10000
)

// uploadTTL is how long the addresses for the parts can be used.
const uploadTTL = time.Hour

// incoming is an upload that goes on.
type incoming struct {
	// Secret is what the addresses of the parts are signed with.
	Secret    string    `json:"secret"`
	Size      int64     `json:"size"`
	Part      int64     `json:"part"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// parts is how many there are.
func (in *incoming) parts() int64 { return (in.Size + in.Part - 1) / in.Part }

// length is how long a part must be.
func (in *incoming) length(i int64) int64 { return min(in.Part, in.Size-i*in.Part) }

type uploadCheckpointRequest struct {
	SizeBytes uint64 `serde:"sizeBytes"`
}

// beginUpload gives out addresses for the parts of a checkpoint. They are told in full, and need no key.
func (c *call) beginUpload() (any, error) {
	var req uploadCheckpointRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	if req.SizeBytes == 0 || req.SizeBytes > maxParts*uint64(c.o.PartSize) {
		return nil, unprocessable("sizeBytes must be between 1 and %d", maxParts*uint64(c.o.PartSize))
	}
	if err := c.payable(); err != nil {
		return nil, err
	}
	now := c.now()
	in := &incoming{Secret: randhex.String(16), Size: int64(req.SizeBytes), Part: c.o.PartSize, ExpiresAt: now.Add(uploadTTL)}
	p := &checkpoint{
		ID: "ckpt-" + randhex.String(16), Account: c.who.account, Status: pointUploading, SizeBytes: in.Size, CreatedAt: now, Upload: in,
	}
	if err := c.savePoint(p); err != nil {
		return nil, err
	}
	scheme := "http"
	if c.r.TLS != nil {
		scheme = "https"
	}
	urls := []string{}
	for i := range in.parts() {
		urls = append(urls, fmt.Sprintf("%s://%s/uploads/%s/%d?signature=%s", scheme, c.r.Host, p.ID, i, in.Secret))
	}
	return reply{http.StatusCreated, map[string]any{
		"checkpoint": p.view(), "partSizeBytes": in.Part, "uploadUrls": urls, "expiresAt": in.ExpiresAt,
	}}, nil
}

// uploadPart takes a part from whoever has its address. A key has no business here, and is refused so that clients that send it find out.
func (c *call) uploadPart() (any, error) {
	c.mu.Lock()
	p := c.points[c.params["id"]]
	c.mu.Unlock()
	if p == nil || p.Upload == nil {
		return nil, &bare{http.StatusNotFound}
	}
	in := p.Upload
	i, err := strconv.ParseInt(c.params["part"], 10, 64)
	given := c.r.URL.Query().Get("signature")
	switch {
	case c.r.Header.Get("Authorization") != "":
		return nil, badRequest("only one auth mechanism allowed: the address is signed, and there is an Authorization header")
	case subtle.ConstantTimeCompare([]byte(given), []byte(in.Secret)) != 1, !c.now().Before(in.ExpiresAt):
		return nil, fail(http.StatusForbidden, "the signature is wrong or has expired")
	case err != nil || i < 0 || i >= in.parts():
		return nil, &bare{http.StatusNotFound}
	case c.r.ContentLength < 0:
		return nil, fail(http.StatusLengthRequired, "Content-Length is required")
	case c.r.ContentLength != in.length(i):
		return nil, badRequest("part %d has %d bytes, not %d", i, in.length(i), c.r.ContentLength)
	}
	f, err := os.CreateTemp(c.pointDir(p.ID), "new-")
	if err != nil {
		return nil, err
	}
	_, err = io.CopyN(f, c.r.Body, in.length(i))
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return nil, badRequest("Failed to read the request body: %v", err)
	}
	return reply{http.StatusOK, nil}, os.Rename(f.Name(), c.partFile(p.ID, i))
}

func (s *Server) partFile(id string, i int64) string {
	return filepath.Join(s.pointDir(id), fmt.Sprintf("part-%d", i))
}

// completeUpload puts the parts together and refuses what cannot be restored.
func (c *call) completeUpload() (any, error) {
	p, err := c.point()
	if err != nil {
		return nil, err
	}
	if p.Upload == nil {
		return nil, conflict("checkpoint is not being uploaded: it is %s", p.Status)
	}
	for i := range p.Upload.parts() {
		if _, err := os.Stat(c.partFile(p.ID, i)); err != nil {
			return nil, conflict("part %d has not been uploaded", i)
		}
	}
	next := *p
	next.Upload = nil
	if err := c.unpackParts(p, &next); err != nil {
		next.Status = pointFailed
		return nil, errors.Join(unprocessable("the checkpoint cannot be restored: %v", err), c.savePoint(&next))
	}
	next.Status = pointAvailable
	if next.SizeBytes, err = c.size(&next); err != nil {
		return nil, err
	}
	return next.view(), c.savePoint(&next)
}

// unpackParts reads the parts, which are gone afterwards, as one file.
func (c *call) unpackParts(p, next *checkpoint) error {
	var readers []io.Reader
	for i := range p.Upload.parts() {
		f, err := os.Open(c.partFile(p.ID, i))
		if err != nil {
			return err
		}
		defer os.Remove(f.Name())
		defer f.Close()
		readers = append(readers, f)
	}
	r := bufio.NewReader(io.MultiReader(readers...))
	if err := disks.ReadShape(r, &next.Shape); err != nil {
		return err
	}
	switch arch := next.Shape.Arch; {
	case arch != "" && arch != c.o.Arch:
		return fmt.Errorf("it is of the arch %s", arch)
	case next.Shape.CPUs == 0 || next.Shape.MemoryMB == 0:
		return disks.ErrFormat
	}
	next.Arch = c.o.Arch
	err := disks.Unpack(r, c.disksOf(p.ID))
	if err != nil {
		err = errors.Join(err, c.o.Guest.Remove(c.disksOf(p.ID)))
	}
	return err
}
