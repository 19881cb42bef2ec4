package mcpserver

import (
	"context"
	"sync"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

// localSource is the local service that a configuration names.
type localSource struct {
	config *Config

	mu  sync.Mutex
	svc *local.Service
}

func newLocalSource(c *Config) *localSource { return &localSource{config: c} }

// Fleet returns the service.
func (s *localSource) Fleet(context.Context) (*smol.Fleet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.svc == nil {
		svc, err := local.New(&local.Options{URL: s.config.LocalURL})
		if err != nil {
			return nil, err
		}
		s.svc = svc
	}
	return s.svc.Fleet, nil
}

// Unavailable says whether this host lacks what the service needs.
func (s *localSource) Unavailable(context.Context) string { return "" }

// Close lets go of the service.
func (s *localSource) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.svc == nil {
		return nil
	}
	return s.svc.Close()
}
