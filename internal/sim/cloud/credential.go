package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// credential is what is known of a stored credential. Its value is not kept: nothing is sent from here that it could be put into.
type credential struct {
	Name      string    `json:"name"`
	EnvVar    string    `json:"envVar"`
	Hosts     []string  `json:"hosts"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

var (
	credentialForm = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)
	variableForm   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	hostForm       = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$`)
)

func (s *Server) credentialFile() string { return filepath.Join(s.o.DataDir, "credentials.json") }

// loadCredentials reads what an earlier server has stored, by slot.
func (s *Server) loadCredentials() error {
	b, err := os.ReadFile(s.credentialFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(b, &s.credentials)
}

// saveCredentials writes them. s.mu is held.
func (s *Server) saveCredentials() error {
	file := s.credentialFile()
	if err := os.WriteFile(file+".new", marshal(s.credentials), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func (c *call) listCredentials() (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []credential{}
	for _, key := range sortedKeys(c.credentials) {
		if strings.HasPrefix(key, slot(c.who.account, "")) {
			list = append(list, c.credentials[key])
		}
	}
	return list, nil
}

type credentialRequest struct {
	EnvVar string   `serde:"envVar"`
	Hosts  []string `serde:"hosts"`
	Value  string   `serde:"value"`
}

func (c *call) putCredential() (any, error) {
	var req credentialRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	name := c.params["name"]
	switch {
	case !credentialForm.MatchString(name):
		return nil, badRequest("invalid credential name %q: use 1 to 64 of a-z, 0-9, _ and -", name)
	case !variableForm.MatchString(req.EnvVar):
		return nil, badRequest("invalid environment variable %q", req.EnvVar)
	case len(req.Hosts) == 0:
		return nil, badRequest("a credential needs at least one host")
	case req.Value == "":
		return nil, badRequest("the value of a credential must not be empty")
	}
	for _, h := range req.Hosts {
		if _, err := netip.ParseAddr(h); err == nil || !hostForm.MatchString(h) {
			return nil, badRequest("invalid host %q: hosts are exact names", h)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key, now := slot(c.who.account, name), c.now()
	cred := credential{name, req.EnvVar, req.Hosts, now, now}
	if old, ok := c.credentials[key]; ok {
		cred.CreatedAt = old.CreatedAt
	}
	c.credentials[key] = cred
	return cred, c.saveCredentials()
}

func (c *call) deleteCredential() (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := slot(c.who.account, c.params["name"])
	if _, ok := c.credentials[key]; !ok {
		return nil, fail(http.StatusNotFound, "credential not found")
	}
	delete(c.credentials, key)
	return reply{http.StatusNoContent, nil}, c.saveCredentials()
}

// credentialsThere reports whether those that a machine is bound to are stored.
func (s *Server) credentialsThere(rec *record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range rec.Credentials {
		if _, ok := s.credentials[slot(rec.Account, name)]; !ok {
			return fmt.Errorf("credential '%s' is not stored", name)
		}
	}
	return nil
}

// placeholders are what commands see in the place of the values.
func (s *Server) placeholders(rec *record) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var env []string
	for _, name := range rec.Credentials {
		if cred, ok := s.credentials[slot(rec.Account, name)]; ok {
			h := fnv.New64a()
			_, _ = h.Write([]byte(rec.ID + "/" + name))
			env = append(env, fmt.Sprintf("%s=SMOL_PLACEHOLDER_%016x", cred.EnvVar, h.Sum64()))
		}
	}
	return env
}
