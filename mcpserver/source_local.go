package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

// localSource is the local service, found or started at the first call that needs it.
type localSource struct {
	supervisor *local.Supervisor

	mu  sync.Mutex
	svc *local.Service
}

// newLocalSource returns the source that c names. Where others' services listen, and the environment of one that is started, are those
// of this process.
func newLocalSource(c *Config, log *slog.Logger) (*localSource, error) {
	o := local.ServeOptionsFromEnv()
	o.Program, o.URL, o.MinVersion, o.StartTimeout, o.Log = c.Smolvm, c.LocalURL, c.MinSmolvm, c.ServeStartTimeout, log
	if c.RuntimeDir != "" {
		o.Dir = c.RuntimeDir
	}
	sup, err := local.Supervise(o)
	if err != nil {
		return nil, misconfigured(err, localNames)
	}
	return &localSource{supervisor: sup}, nil
}

// Fleet returns the service. Whether there is one shows at the first call.
func (s *localSource) Fleet(context.Context) (*smol.Fleet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.svc == nil {
		s.svc = s.supervisor.Service()
	}
	return s.svc.Fleet, nil
}

// Unavailable says whether this host lacks what the service needs.
func (s *localSource) Unavailable(ctx context.Context) string {
	err := s.supervisor.Check(ctx)
	if err == nil || ctx.Err() != nil {
		return ""
	}
	e := toToolError(ctx, err)
	why := strings.TrimPrefix(e.Message, "check: ")
	if e.Hint == "" {
		return why
	}
	return why + "; " + e.Hint
}

// Close stops the serve, if this process started it and is the last that uses it.
func (s *localSource) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.svc == nil {
		return nil
	}
	return s.svc.Close()
}

// codeOfLocal returns the code of an error that says why there is no local service, or "".
func codeOfLocal(err error) ErrorCode {
	switch {
	case errors.Is(err, local.ErrTooOld):
		return CodeSmolvmTooOld
	case errors.Is(err, local.ErrNotServed):
		return CodeLocalUnavailable
	default:
		return ""
	}
}
