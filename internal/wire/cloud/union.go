package cloudwire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/oapi-codegen/runtime"
)

// A member is one of the types that a tagged union can hold, with the tag that says which one it is.
type member struct {
	tag   string
	value any // nil when it is not set
}

// encodeUnion returns the one member that is set with its tag under the name given, or unknown as it is. A union in which nothing is set
// would go out as null and mean whatever the service takes null for, so it is an error, as are two members.
func encodeUnion(union, name string, unknown json.RawMessage, members ...member) ([]byte, error) {
	var set *member
	for i := range members {
		if members[i].value == nil {
			continue
		}
		if set != nil {
			return nil, fmt.Errorf("%s has two members, %s and %s; set one", union, set.tag, members[i].tag)
		}
		set = &members[i]
	}
	switch {
	case set == nil && unknown == nil:
		return nil, fmt.Errorf("%s has no member; set one", union)
	case set == nil:
		return unknown, nil
	case unknown != nil:
		return nil, fmt.Errorf("%s has two members, %s and an unknown one; set one", union, set.tag)
	}
	body, err := json.Marshal(set.value)
	if err != nil {
		return nil, err
	}
	tag, err := json.Marshal(map[string]string{name: set.tag})
	if err != nil {
		return nil, err
	}
	return runtime.JSONMerge(body, tag)
}

// tagOf returns the tag of a member that is not known, or "".
func tagOf(name string, unknown json.RawMessage) string {
	var fields map[string]json.RawMessage
	var tag string
	if json.Unmarshal(unknown, &fields) != nil || json.Unmarshal(fields[name], &tag) != nil {
		return ""
	}
	return tag
}

// isNull reports whether b is what stands for a union that is not there.
func isNull(b []byte) bool { return bytes.Equal(bytes.TrimSpace(b), []byte("null")) }

// setMember returns p as the value of a member: an interface that is nil when p is.
func setMember[T any](tag string, p *T) member {
	if p == nil {
		return member{tag: tag}
	}
	return member{tag: tag, value: p}
}
