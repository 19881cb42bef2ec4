package cloud

import (
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/smol-machines/smol-go/internal/randhex"
)

// connectGrant is what a connect token opens.
type connectGrant struct {
	account, machine string
	expires          time.Time
}

type connectTokenRequest struct {
	TTL *uint64 `serde:"ttlSeconds"`
}

// The lives of a connect token, in seconds.
const (
	minTokenTTL     = 60
	maxTokenTTL     = 86400
	defaultTokenTTL = 3600
)

// makeToken gives out a token for the ports of the machine and its branches, which does not outlive the key or the server.
func (c *call) makeToken() (any, error) {
	var req connectTokenRequest
	if err := c.decodeMaybe(&req); err != nil {
		return nil, err
	}
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	ttl := valueOr(req.TTL, defaultTokenTTL)
	if ttl < minTokenTTL || ttl > maxTokenTTL {
		return nil, unprocessable("ttlSeconds must be between %d and %d", minTokenTTL, maxTokenTTL)
	}
	expires := c.now().Add(time.Duration(ttl) * time.Second)
	if end := c.who.expires; !end.IsZero() && end.Before(expires) {
		expires = end
	}
	token := "mct_" + randhex.String(24)
	c.mu.Lock()
	c.tokens[sha256.Sum256([]byte(token))] = connectGrant{m.account, m.id, expires}
	c.mu.Unlock()
	return reply{http.StatusCreated, map[string]any{"token": token, "expiresAt": expires, "machineId": m.id}}, nil
}

// connectToken returns who shows a connect token, or nil.
func (s *Server) connectToken(token string) *principal {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.tokens[sha256.Sum256([]byte(token))]
	if !ok || !s.now().Before(g.expires) {
		return nil
	}
	return &principal{account: g.account, machine: g.machine}
}
