// Package local is the fleet of machines on this host, served by smolvm over a Unix socket or a loopback port.
//
//	svc, err := local.New(local.OptionsFromEnv())
//	if err != nil {
//		return err
//	}
//	defer svc.Close()
//	m, err := svc.Create(ctx, smol.Spec{Image: "alpine:3.20", Network: smol.Network{Open: true}}, nil)
//
// The service has no authentication: whoever reaches it can do on the host what the user who runs it can. That is why only a
// Unix socket or a loopback address is accepted, and why no proxy is ever used.
//
// [New] wants a service that runs. [Supervise] also starts one, when there is none:
//
//	sup, err := local.Supervise(local.ServeOptionsFromEnv())
//	if err != nil {
//		return err
//	}
//	svc := sup.Service() // the first call finds a serve or starts it
//	defer svc.Close()    // the last one closed stops it
//
// # What is sent again
//
// Nothing but the attempt to connect: for a moment when the service is about to start (see [Options]). The questions
// among the calls (inspect, list, logs, download) can be repeated by net/http on a connection that died while it was idle.
// When the answer to a call that changes something is lost, the package asks what became of it before it says anything.
//
// # Deadlines
//
// There are none but those of the caller's context, and that of connecting. The service itself answers no call after 300
// seconds, except for the logs and the rest of a stream: the error then has Status 408 and the work may go on. A start
// includes the pull of the image.
package local

import (
	"context"
	"errors"

	"github.com/smol-machines/smol-go/internal/serve"
	"github.com/smol-machines/smol-go/smol"
)

// Service is the local fleet. It embeds the part that all fleets share and adds what only this one has. It is safe for
// concurrent use. Close it when it is no longer needed; machines run on.
type Service struct {
	*smol.Fleet
	backend *Backend
	lease   *serve.Lease // of a supervised service
}

// New returns the service that o names; nil means the defaults. It does no I/O: whether anybody serves there shows at the
// first call.
func New(o *Options) (*Service, error) {
	b, err := NewBackend(o)
	if err != nil {
		return nil, err
	}
	return &Service{Fleet: smol.NewFleet(b), backend: b}, nil
}

// URL returns where the service is: unix:// and an absolute path, or http:// and a loopback address. For a service of a [Supervisor] that is the
// one in use, and empty while there is none.
func (s *Service) URL() string {
	if s.lease != nil {
		return s.lease.URL()
	}
	return s.backend.traits.Endpoint
}

// Close releases what the service holds. The last service of a [Supervisor] to be closed also stops the serve, if that is to be stopped, and
// waits for its end; machines run on. Closing again does nothing.
func (s *Service) Close() error {
	err := s.Fleet.Close()
	if s.lease != nil {
		err = errors.Join(err, s.lease.Close())
	}
	return err
}

// Health asks the service whether it is up and which release it is.
func (s *Service) Health(ctx context.Context) (*Health, error) { return s.backend.Health(ctx) }
