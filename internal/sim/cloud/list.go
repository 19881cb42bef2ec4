package cloud

import (
	"encoding/json"
	"strings"

	"github.com/smol-machines/smol-go/internal/sim/serde"
)

// labelFilter is a label that a machine must have.
type labelFilter struct{ key, value string }

// filters are the labels that machines in a list must have.
func (c *call) filters() ([]labelFilter, error) {
	if c.o.Old.NoLabelFilter {
		return nil, nil
	}
	var list []labelFilter
	for _, f := range c.r.URL.Query()["label"] {
		key, value, ok := strings.Cut(f, "=")
		if !ok || key == "" {
			return nil, unprocessable("invalid label filter %s: it has the form key=value", serde.Quote(f))
		}
		list = append(list, labelFilter{key, value})
	}
	return list, nil
}

func (c *call) get() (any, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	return m.json(), nil
}

// list answers with the machines of the account, the oldest first.
func (c *call) list() (any, error) {
	filters, err := c.filters()
	if err != nil {
		return nil, err
	}
	all := c.all()
	body := append(make([]byte, 0, 2+len(all)<<10), '[') // most are a little smaller
	for _, m := range all {
		if m.account != c.who.account || !m.has(filters) {
			continue
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = append(body, m.json()...)
	}
	body = append(body, ']')
	if c.o.Old.Wrapped {
		return json.RawMessage(`{"machines":` + string(body) + `}`), nil
	}
	return json.RawMessage(body), nil
}

// has reports whether the machine has all the labels.
func (m *machine) has(filters []labelFilter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range filters {
		if v, ok := m.rec.Labels[f.key]; !ok || v != f.value {
			return false
		}
	}
	return true
}
