package cloud

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/randhex"
)

// DefaultAccount is the account of a key that names none.
const DefaultAccount = "tenant-1"

// Key is what a client shows to be let in. The token is never logged and never sent.
type Key struct {
	// Token is what follows Bearer. Required.
	Token string
	// Account is whose machines the key is for. Empty: DefaultAccount.
	Account string
	// Scopes are what it may do, "machine:read" for example; "*" is everything. Nil: all that a key may have. Empty but not nil: nothing,
	// and the key is refused.
	Scopes []string
	// Expires is when it is refused by the server's clock. Zero: never.
	Expires time.Time
}

// NewToken returns a token for a key that nobody can guess.
func NewToken() string { return "smk_" + randhex.String(24) }

// allScopes are those that a key may have.
var allScopes = []string{
	"machine:read", "machine:create", "machine:exec", "machine:files", "machine:delete", "group:write", "usage:read",
	"volume:read", "volume:create", "volume:delete",
}

// principal is who sends a request.
type principal struct {
	account string
	scopes  []string
	expires time.Time
	// machine, unless empty, is the only one whose ports it may reach: it shows a connect token, not a key.
	machine string
}

// may reports whether one of the scopes is held; no scopes are held by everybody.
func (p *principal) may(scopes []string) bool {
	if len(scopes) == 0 {
		return true
	}
	for _, s := range scopes {
		if slices.Contains(p.scopes, s) {
			return true
		}
	}
	return slices.Contains(p.scopes, "*")
}

// keyring knows keys by the hashes of their tokens.
type keyring []hashed

type hashed struct {
	sum [sha256.Size]byte
	key Key
}

func newKeyring(keys []Key) keyring {
	var ring keyring
	for _, k := range keys {
		if k.Account == "" {
			k.Account = DefaultAccount
		}
		if k.Scopes == nil {
			k.Scopes = allScopes
		}
		h := hashed{sha256.Sum256([]byte(k.Token)), k}
		h.key.Token = "" // not needed any more
		ring = append(ring, h)
	}
	return ring
}

// find looks for a token in a time that does not depend on how much of it is right.
func (k keyring) find(token string) *Key {
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range k {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], k[i].sum[:]), i, found)
	}
	if found < 0 {
		return nil
	}
	return &k[found].key
}

// bearer is the token in a header, or "".
func bearer(h http.Header) string {
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// upgrades reports whether a request is a WebSocket handshake.
func upgrades(r *http.Request) bool { return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") }

// authenticate finds out who sends a request, before anything is said about its path. A failure without a text is answered without a body.
func (s *Server) authenticate(r *http.Request, m *method) (*principal, error) {
	token := bearer(r.Header)
	if token == "" && m != nil && m.socket && upgrades(r) {
		token = r.URL.Query().Get("access_token")
	}
	if token == "" {
		return nil, &bare{http.StatusUnauthorized}
	}
	key := s.keys.find(token)
	switch {
	case key == nil && m != nil && m.connect:
		if p := s.connectToken(token); p != nil {
			return p, nil
		}
		fallthrough
	case key == nil:
		return nil, &failure{http.StatusUnauthorized, "unknown_key", "unknown API key"}
	case !key.Expires.IsZero() && !s.now().Before(key.Expires):
		return nil, &failure{http.StatusUnauthorized, "expired_key", "API key has expired"}
	case len(key.Scopes) == 0:
		return nil, fail(http.StatusForbidden, "API key has no scopes")
	}
	return &principal{account: key.Account, scopes: key.Scopes, expires: key.Expires}, nil
}
