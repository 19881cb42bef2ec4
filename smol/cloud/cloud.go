// Package cloud is the fleet of machines in the smol cloud.
//
//	svc, err := cloud.New(cloud.OptionsFromEnv())
//	if err != nil {
//		return err
//	}
//	defer svc.Close()
//	m, err := svc.Create(ctx, smol.Spec{Image: "python:3.12-alpine", TTL: time.Hour}, nil)
//
// A machine costs money for as long as it exists: running it is billed by the second, and a stopped one for its disk. [smol.Machine.Discard]
// ends that; [smol.Spec.TTL] does too when nobody is left to call it. [Machine.Usage] and [Machine.DeleteWithUsage] tell the bill.
//
// # The key
//
// Every request carries the key, and it goes nowhere but to the service: plain HTTP is accepted to this host's loopback only, redirects are not
// followed, and it is taken out of whatever a service or a network says before that becomes part of an error. [Options] do not print it.
//
// # What is sent again
//
// Questions (inspect, list, usage, events, opening a download or a log) after 429, 500, 502, 503, 504 and when no answer came. Stop and delete, of
// which a second changes nothing, after the same but 500. Everything else only after 429 with Retry-After, by which the service says that it
// has done nothing. Uploads never. A request is sent three times at most, with a quarter and half a second between, or what Retry-After says; a
// wait that the context would cut short, or of more than 30 seconds, is not begun. When the answer to a create is lost, Fleet looks the
// machine up by its name, and knows it by a label that it carries.
//
// # Deadlines
//
// There are none but those of the caller's context and that of connecting. A start includes the pull of the image.
package cloud

import (
	"context"

	"github.com/smol-machines/smol-go/smol"
)

// Service is the cloud fleet. It embeds the part that all fleets share and adds what only this one has. It is safe for concurrent use. Close it
// when it is no longer needed; machines run on, and are billed.
type Service struct {
	*smol.Fleet
	backend *Backend
}

// New returns the service that o names. It needs a key: without one the error matches [smol.ErrUnauthenticated]. It reads the files that o names and
// talks to nobody: whether the key is good shows at the first call.
func New(o *Options) (*Service, error) {
	b, err := NewBackend(o)
	if err != nil {
		return nil, err
	}
	return &Service{Fleet: smol.NewFleet(b), backend: b}, nil
}

// URL returns where the service is, without a slash at its end.
func (s *Service) URL() string { return s.backend.traits.Endpoint }

// Machine returns a handle of the machine with that name or id, as [smol.Fleet.Machine] does, with what only cloud machines have.
func (s *Service) Machine(ref string) *Machine {
	return &Machine{Machine: s.Fleet.Machine(ref), backend: s.backend}
}

// Health asks the service how it is. It needs no key.
func (s *Service) Health(ctx context.Context) (*Health, error) { return s.backend.Health(ctx) }

// Account asks what the account is and what it owes. The key needs the scope usage:read or machine:read.
func (s *Service) Account(ctx context.Context) (*Account, error) { return s.backend.Account(ctx) }
