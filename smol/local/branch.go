package local

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/smol-machines/smol-go/internal/rest"
	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/smol"
)

// Branch implements [smol.BranchBackend]. The source must have been started branchable. A service before 1.17 freezes it: it cannot run on,
// nor be stopped or deleted as long as it has branches. A service before 1.14 cannot make a branch that can be branched again. Files put
// into the branch of a machine made from an image can be invisible to its commands before the first of them has run.
func (b *Backend) Branch(ctx context.Context, id, child string, opts *smol.BranchOptions) (*smol.Info, error) {
	const op = "branch"
	r, err := request(op, http.MethodPost, id, "/branches")
	if err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &smol.BranchOptions{}
	}
	body, err := wireBranch(ctx, id, child, opts)
	if err != nil {
		return nil, rest.Describe(err, op, id)
	}
	info, err := b.machine(ctx, r, body)
	if e, ok := rest.Answer(err, http.StatusNotFound); ok && e.ServerCode == "" {
		// Not a machine that is missing, which the service says in JSON, but the route: it was called fork before 1.14.
		if opts.Branchable {
			return nil, rest.Describe(unsupported("BranchOptions.Branchable", "branches of branches before release 1.14", "update smolvm"), op, id)
		}
		if r, err = request(op, http.MethodPost, id, "/fork"); err != nil {
			return nil, err
		}
		info, err = b.machine(ctx, r, body)
	}
	return info, branchRefusal(err)
}

func wireBranch(ctx context.Context, id, child string, opts *smol.BranchOptions) (*localwire.BranchRequest, error) {
	if err := checkName("child", child); err != nil {
		return nil, err
	}
	if child == id {
		return nil, rest.Invalid("child", "%q is the name of the machine itself", child)
	}
	if len(opts.Labels) > 0 {
		return nil, unsupported("BranchOptions.Labels", "labels", "put what tells machines apart into their names")
	}
	ports, err := wirePorts(ctx, "BranchOptions.Ports", opts.Ports)
	if err != nil {
		return nil, err
	}
	return &localwire.BranchRequest{Name: child, Ports: ports, Branchable: opts.Branchable}, nil
}

// branchRefusal gives a refusal its remedy. The service classifies its errors here by their texts, and not always well.
func branchRefusal(err error) error {
	var e *smol.Error
	if !errors.As(err, &e) || e.Status < http.StatusBadRequest || e.Code == smol.CodeExists || e.ServerCode == string(localwire.CodePortInUse) {
		return err
	}
	text := strings.ToLower(e.Message)
	switch {
	case strings.Contains(text, "running forkable"), strings.Contains(text, "branchable"):
		e.Code, e.Hint = smol.CodeConflict, branchableHint
	case strings.Contains(text, "not supported"), strings.Contains(text, "unsupported"):
		e.Code, e.Hint = smol.CodeUnsupported, "this platform cannot branch; create another machine and copy the files into it"
	case e.Status == http.StatusNotFound && e.ServerCode == "":
		e.Code, e.Hint = smol.CodeUnsupported, "this service cannot branch; update smolvm"
	}
	return err
}
