package cloudwire

import (
	"bytes"
	"encoding/json"
)

// The tags of [MachineSource].
const (
	SourceImage       = "image"
	SourceSmolmachine = "smolmachine"
)

// MachineSource is where a machine's disk comes from. One field is set; the zero value is no source and cannot be encoded, because a
// request needs one. A reply may name another source than the request did.
type MachineSource struct {
	// Image is an OCI image.
	Image *ImageSource
	// Smolmachine is a packed machine in the registry.
	Smolmachine *SmolmachineSource
	// Unknown is a source of a kind, or of a form, that this project does not know, as it came.
	Unknown json.RawMessage
}

// ImageSource is an OCI image, pulled by its reference when the machine boots.
type ImageSource struct {
	// Reference is the image's name. A bare one may come back as a packed machine of the service's library.
	Reference string `json:"reference"`
	// Arch pins the architecture, amd64 or arm64; "" is left out and leaves it open.
	Arch string `json:"arch,omitempty"`
}

// SmolmachineSource is a packed machine in the registry.
type SmolmachineSource struct {
	// Reference is its name.
	Reference string `json:"reference"`
	// Arch is the architecture, amd64 or arm64; "" is left out and is what the manifest says.
	Arch string `json:"arch,omitempty"`
}

// Type returns the tag, which is "" when nothing is set or what is set has none.
func (s MachineSource) Type() string {
	switch {
	case s.Image != nil:
		return SourceImage
	case s.Smolmachine != nil:
		return SourceSmolmachine
	default:
		return tagOf("type", s.Unknown)
	}
}

// Reference returns the name that either known member has, or "".
func (s MachineSource) Reference() string {
	switch {
	case s.Image != nil:
		return s.Image.Reference
	case s.Smolmachine != nil:
		return s.Smolmachine.Reference
	default:
		return ""
	}
}

// MarshalJSON encodes the member that is set. It is an error if none is, or more than one.
func (s MachineSource) MarshalJSON() ([]byte, error) {
	return encodeUnion("source", "type", s.Unknown, setMember(SourceImage, s.Image), setMember(SourceSmolmachine, s.Smolmachine))
}

// UnmarshalJSON decodes a member by its tag. What it does not know it keeps in Unknown; null is the zero value.
func (s *MachineSource) UnmarshalJSON(b []byte) error {
	*s = MachineSource{}
	if isNull(b) {
		return nil
	}
	var m struct {
		Type      string `json:"type"`
		Reference string `json:"reference"`
		Arch      string `json:"arch"`
	}
	if err := json.Unmarshal(b, &m); err == nil && m.Type == SourceImage {
		s.Image = &ImageSource{Reference: m.Reference, Arch: m.Arch}
	} else if err == nil && m.Type == SourceSmolmachine {
		s.Smolmachine = &SmolmachineSource{Reference: m.Reference, Arch: m.Arch}
	} else {
		s.Unknown = bytes.Clone(b)
	}
	return nil
}
