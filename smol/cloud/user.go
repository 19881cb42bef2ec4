package cloud

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/smol-machines/smol-go/internal/rest"
	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	"github.com/smol-machines/smol-go/smol"
)

const (
	// proofTime bounds the command that proves a user, in seconds.
	proofTime = 30
	// maxProofs bounds what is remembered.
	maxProofs = 4096
	maxUser   = 256
)

// users remembers for which machines the service has shown that it runs commands as the user that is asked for.
type users struct {
	mu     sync.Mutex
	proven map[[2]string]bool
}

func (u *users) known(id, user string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.proven[[2]string{id, user}]
}

func (u *users) remember(id, user string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.proven == nil || len(u.proven) >= maxProofs {
		u.proven = make(map[[2]string]bool) // what is forgotten is asked for again
	}
	u.proven[[2]string{id, user}] = true
}

func (u *users) forget(id, user string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.proven, [2]string{id, user})
}

// prove returns nil once the service has answered a command that does nothing with the name of the user. A service that does not know the field
// drops it without a word, and would run the command as another user.
func (u *users) prove(ctx context.Context, b *Backend, c *call, user string) error {
	if user == "" || u.known(c.Machine, user) {
		return nil
	}
	proof, err := newCall(opExec, c.Machine)
	if err != nil {
		return err
	}
	proof.Op = c.Op
	reply, err := b.exec(ctx, proof, &cloudwire.ExecRequest{
		Command: cloudwire.Command{Argv: []string{"true"}}, User: user, TimeoutSeconds: new(int64(proofTime)),
	})
	if err != nil {
		return err
	}
	if reply.User != user {
		return &smol.Error{
			Op: c.Op, Machine: c.Machine, Code: smol.CodeUnsupported, Err: errors.ErrUnsupported,
			Message: fmt.Sprintf("the service is too old to run a command as %.80q; nothing was run", user),
			Hint:    "use su in the command, or an image whose user it is",
		}
	}
	u.remember(c.Machine, user)
	return nil
}

// checkUser refuses what can be no user: a name of the image, or uid[:gid].
func checkUser(user string) error {
	if len(user) > maxUser || strings.ContainsFunc(user, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return rest.Invalid("ExecRequest.User", "%.80q is neither the name of a user nor uid[:gid]", user)
	}
	return rest.CheckText("ExecRequest.User", user)
}
