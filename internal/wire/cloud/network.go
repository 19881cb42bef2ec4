package cloudwire

import (
	"bytes"
	"encoding/json"
)

// The tags of [Network].
const (
	NetworkBlocked = "blocked"
	NetworkOpen    = "open"
	NetworkAllow   = "allowCidrs"
)

// Network is what a machine may reach. One field is set; the zero value is no policy and cannot be encoded, so that a request which says
// nothing about egress is a mistake that shows, and not egress to everywhere.
type Network struct {
	// Blocked is no egress.
	Blocked *BlockedNetwork
	// Open is any egress.
	Open *OpenNetwork
	// Allow is egress to some addresses and hosts.
	Allow *AllowNetwork
	// Unknown is a policy of a kind, or of a form, that this project does not know, as it came.
	Unknown json.RawMessage
}

// BlockedNetwork is no egress. It has nothing but its tag.
type BlockedNetwork struct{}

// OpenNetwork is any egress. It has nothing but its tag.
type OpenNetwork struct{}

// AllowNetwork is egress to these addresses and hosts. Both lists are sent, a nil one as an empty list: servers before August 2026 require
// the one and do not know the other. Both empty is refused by the service.
type AllowNetwork struct {
	// CIDRs are address ranges.
	CIDRs []string `json:"cidrs"`
	// Hosts are host names, which on create stand for their subdomains, too.
	Hosts []string `json:"hosts"`
}

// MarshalJSON sends both lists, never null.
func (a AllowNetwork) MarshalJSON() ([]byte, error) {
	type plain AllowNetwork
	return json.Marshal(plain{CIDRs: notNil(a.CIDRs), Hosts: notNil(a.Hosts)})
}

// Mode returns the tag, which is "" when nothing is set or what is set has none.
func (n Network) Mode() string {
	switch {
	case n.Blocked != nil:
		return NetworkBlocked
	case n.Open != nil:
		return NetworkOpen
	case n.Allow != nil:
		return NetworkAllow
	default:
		return tagOf("mode", n.Unknown)
	}
}

// MarshalJSON encodes the member that is set. It is an error if none is, or more than one.
func (n Network) MarshalJSON() ([]byte, error) {
	return encodeUnion("network", "mode", n.Unknown,
		setMember(NetworkBlocked, n.Blocked), setMember(NetworkOpen, n.Open), setMember(NetworkAllow, n.Allow))
}

// UnmarshalJSON decodes a member by its tag. What it does not know it keeps in Unknown; null is the zero value.
func (n *Network) UnmarshalJSON(b []byte) error {
	*n = Network{}
	if isNull(b) {
		return nil
	}
	var m struct {
		Mode  string   `json:"mode"`
		CIDRs []string `json:"cidrs"`
		Hosts []string `json:"hosts"`
	}
	switch err := json.Unmarshal(b, &m); {
	case err == nil && m.Mode == NetworkBlocked:
		n.Blocked = &BlockedNetwork{}
	case err == nil && m.Mode == NetworkOpen:
		n.Open = &OpenNetwork{}
	case err == nil && m.Mode == NetworkAllow:
		n.Allow = &AllowNetwork{CIDRs: m.CIDRs, Hosts: m.Hosts}
	default:
		n.Unknown = bytes.Clone(b)
	}
	return nil
}

func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
