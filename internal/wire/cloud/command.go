package cloudwire

import (
	"encoding/json"
	"errors"
)

// Command is what to run: an argv, or a text for a shell in the machine. The zero value is neither and cannot be encoded.
type Command struct {
	// Argv is the program and its arguments. If it is not nil it is what is sent, even when it is empty.
	Argv []string
	// Shell is a text; which shell reads it, and how, is the service's choice.
	Shell string
}

// MarshalJSON encodes the argv as a list, else the text as a string.
func (c Command) MarshalJSON() ([]byte, error) {
	switch {
	case c.Argv != nil && c.Shell != "":
		return nil, errors.New("command has both an argv and a text for a shell; set one")
	case c.Argv != nil:
		return json.Marshal(c.Argv)
	case c.Shell != "":
		return json.Marshal(c.Shell)
	default:
		return nil, errors.New("command has neither an argv nor a text for a shell; set one")
	}
}

// UnmarshalJSON decodes a list or a string.
func (c *Command) UnmarshalJSON(b []byte) error {
	*c = Command{}
	if isNull(b) {
		return nil
	}
	if json.Unmarshal(b, &c.Shell) == nil {
		return nil
	}
	return json.Unmarshal(b, &c.Argv)
}
