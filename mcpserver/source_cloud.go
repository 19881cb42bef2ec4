package mcpserver

import (
	"context"
	"sync"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

// cloudSource is the cloud that a configuration names.
type cloudSource struct {
	options *cloud.Options

	mu  sync.Mutex
	svc *cloud.Service
}

func newCloudSource(c *Config) *cloudSource {
	return &cloudSource{options: &cloud.Options{Token: c.CloudToken, URL: c.CloudURL, CAFile: c.CAFile}}
}

// Fleet returns the service; a file of certificates that has gone shows here, and a bad address if it was not LoadConfig that took it.
func (s *cloudSource) Fleet(context.Context) (*smol.Fleet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.svc == nil {
		svc, err := cloud.New(s.options)
		if err != nil {
			return nil, misconfigured(err, cloudNames)
		}
		s.svc = svc
	}
	return s.svc.Fleet, nil
}

// Unavailable knows only whether there is a key.
func (s *cloudSource) Unavailable(context.Context) string {
	if s.options.Token == "" {
		return "there is no key for the cloud: set SMOL_CLOUD_TOKEN"
	}
	return ""
}

// Close closes the connections.
func (s *cloudSource) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.svc == nil {
		return nil
	}
	return s.svc.Close()
}
