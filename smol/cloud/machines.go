package cloud

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/rest"
	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	"github.com/smol-machines/smol-go/smol"
)

// idPattern is what the service's ids look like. Others are possible.
var idPattern = regexp.MustCompile(`^mach-[0-9a-f]{32}$`)

// Inspect implements [smol.Backend]. The service knows machines by id only, so that what is no id of a machine is looked for among the names of
// all. Names are unique; should two machines have the one that is asked for, the error matches [smol.ErrConflict] and names their ids.
func (b *Backend) Inspect(ctx context.Context, ref string) (*smol.Info, error) {
	c, err := newCall(opInspect, ref)
	if err != nil {
		return nil, err
	}
	m, err := b.record(ctx, c, nil)
	if _, missing := rest.Answer(err, http.StatusNotFound); missing && !idPattern.MatchString(ref) {
		m, err = b.named(ctx, c, err)
	}
	if err != nil {
		return nil, err
	}
	if m.ID == "" {
		return nil, c.fail(smol.CodeUnknown, "the reply describes no machine")
	}
	return infoOf(m), nil
}

// named returns the machine whose name is what c asked for, or the error missing.
func (b *Backend) named(ctx context.Context, c *call, missing error) (*cloudwire.MachineInfo, error) {
	var found []cloudwire.MachineInfo
	for m, err := range b.machines(ctx, "") {
		if err != nil {
			return nil, rest.Describe(err, c.Op, c.Machine)
		}
		if m.Name == c.Machine && m.ID != "" && m.State != cloudwire.StateDeleted {
			found = append(found, *m)
		}
	}
	switch len(found) {
	case 0:
		return nil, missing
	case 1:
		return &found[0], nil
	}
	var ids []string
	for i := range found {
		ids = append(ids, found[i].ID)
	}
	e := c.fail(smol.CodeConflict, fmt.Sprintf("the name is that of %d machines: %s", len(ids), strings.Join(ids, ", ")))
	e.Hint = "use the id of the one that is meant"
	return nil, e
}

// List implements [smol.Backend]. The service lists all machines of the account, stopped ones too. Services that do not know labels list them
// whatever is asked for, so it is looked at here as well.
func (b *Backend) List(ctx context.Context, labels map[string]string) iter.Seq2[*smol.Info, error] {
	return func(yield func(*smol.Info, error) bool) {
		query, err := labelQuery(labels)
		if err != nil {
			yield(nil, rest.Describe(err, "list", ""))
			return
		}
		for m, err := range b.machines(ctx, query) {
			if err != nil {
				yield(nil, err)
				return
			}
			if m.ID == "" || !carries(m, labels) {
				continue
			}
			if !yield(infoOf(m), nil) {
				return
			}
		}
	}
}

func labelQuery(labels map[string]string) (string, error) {
	var query []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if key == "" || strings.Contains(key, "=") {
			return "", rest.Invalid(fmt.Sprintf("ListOptions.Labels[%.80q]", key), "must have a name without '='")
		}
		query = append(query, "label="+url.QueryEscape(key+"="+labels[key]))
	}
	return strings.Join(query, "&"), nil
}

func carries(m *cloudwire.MachineInfo, labels map[string]string) bool {
	for key, value := range labels {
		if got, ok := m.Labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// machines yields the records of a list as they come, so that a long list is never in memory as a whole. A record is valid until the next.
func (b *Backend) machines(ctx context.Context, query string) iter.Seq2[*cloudwire.MachineInfo, error] {
	return func(yield func(*cloudwire.MachineInfo, error) bool) {
		c, err := newCall(opList, "")
		if err != nil {
			yield(nil, err)
			return
		}
		c.Query = query
		resp, err := b.open(ctx, c)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		body := bufio.NewReaderSize(resp.Body, 64<<10)
		head, _ := body.Peek(1 << 10) // what is wrong shows below
		head = slices.Clone(head)
		dec := json.NewDecoder(body)
		err = enterList(dec)
		for err == nil && dec.More() {
			var m cloudwire.MachineInfo
			if err = dec.Decode(&m); err == nil && !yield(&m, nil) {
				return
			}
		}
		if err == nil {
			_, err = dec.Token() // the end of the list, without which it was cut
		}
		if err != nil {
			yield(nil, listError(ctx, c, resp, head, err))
		}
	}
}

// enterList reads up to the first record: a bare list, or the member machines of an object.
func enterList(dec *json.Decoder) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	for t == json.Delim('{') && dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		if key == "machines" {
			if t, err = dec.Token(); err != nil {
				return err
			}
			break
		}
		var other json.RawMessage
		if err := dec.Decode(&other); err != nil {
			return err
		}
	}
	if t != json.Delim('[') {
		return errNoList
	}
	return nil
}

var errNoList = errors.New("no list of machines")

// listError tells a list that is none from one that was cut.
func listError(ctx context.Context, c *call, resp *http.Response, head []byte, err error) error {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &typ) || errors.Is(err, errNoList) || len(head) == 0 && err == io.EOF {
		return c.NotUnderstood(resp, head, err)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return c.Broken(ctx, err)
}
