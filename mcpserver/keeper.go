package mcpserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/internal/ledger"
	"github.com/smol-machines/smol-go/smol"
)

const (
	// labelHost and labelSession are the labels of ephemeral machines in the cloud: which host they belong to, and which of its sessions.
	labelHost, labelSession = "smol-mcp-host", "smol-mcp-session"
	// recordBound is how long the record may take where no caller bounds it.
	recordBound = 5 * time.Second
)

// keeper knows the ephemeral machines of this process, so that they go when their session ends. What a later process needs to know is in
// the ledger for the local fleet, and in the labels of the machines for the cloud.
type keeper struct {
	server *Server
	// ledger is nil if there is no runtime directory: then a process that is killed leaves its machines.
	ledger *ledger.Ledger
	janitor

	mu    sync.Mutex // held over the changes of the record, too: what is kept and what is on record agree
	host  string     // as the ledger has it; empty until it is needed
	locks map[*session]*ledger.Session
	kept  map[kept]*claim
}

// kept is an ephemeral machine of a session.
type kept struct {
	session *session
	target  Target
	name    string
}

// claim is what is known of a machine that a session has asked for. Nil is one that is not ephemeral.
type claim struct {
	kept
	keeper *keeper

	// The rest belongs to keeper.mu.

	asked   int           // calls under way that may make it
	entry   ledger.Entry  // as it is on record, for the local fleet
	made    bool          // by this session
	machine *smol.Machine // once it is made; nil for the local fleet, which knows no machine but by name
	unsure  bool          // a call failed in a way that leaves open whether there is a machine
}

func newKeeper(s *Server) *keeper {
	k := &keeper{server: s, locks: map[*session]*ledger.Session{}, kept: map[kept]*claim{}, janitor: newJanitor()}
	if s.config.RuntimeDir != "" {
		k.ledger = ledger.New(s.config.RuntimeDir)
	}
	return k
}

// ephemeral reports whether a machine of that name goes with its session.
func (k *keeper) ephemeral(name string) bool {
	return strings.HasPrefix(name, k.server.config.MachinePrefix)
}

// expect is called before a fleet is asked for a machine of ss. An error forbids it. Once the fleet has answered, the claim is settled.
func (k *keeper) expect(ctx context.Context, ss *session, t Target, name string) (*claim, error) {
	if !k.ephemeral(name) {
		return nil, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := kept{ss, t, name}
	c := k.kept[key]
	if c == nil {
		c = &claim{kept: key, keeper: k}
	}
	err := k.join(ctx, ss)
	if err == nil {
		err = k.record(ctx, c)
	}
	if err != nil {
		return nil, unrecorded(ctx, err)
	}
	c.asked++
	k.kept[key] = c
	return c, nil
}

// record puts a machine that is about to be asked for on record. The caller holds k.mu.
func (k *keeper) record(ctx context.Context, c *claim) error {
	if c.target != TargetLocal || c.made {
		return nil
	}
	e := c.entry
	e.Name, e.Session, e.Service, e.Asked = c.name, c.session.id, k.server.config.LocalURL, time.Now().Unix()
	if e.Since == 0 {
		e.Since = e.Asked
	}
	if k.ledger != nil && e != c.entry {
		if err := k.ledger.Add(ctx, e); err != nil {
			return err
		}
	}
	c.entry = e
	return nil
}

// join holds the session's lock from its first machine on. The caller holds k.mu.
func (k *keeper) join(ctx context.Context, ss *session) error {
	if k.ledger == nil || k.locks[ss] != nil {
		return nil
	}
	host, err := k.ledger.Host(ctx)
	if err != nil {
		return err
	}
	lock, err := k.ledger.Begin(ctx, ss.id)
	if err != nil {
		return err
	}
	k.host, k.locks[ss] = host, lock
	return nil
}

// unrecorded says that no machine was asked for, since a crash would leave it behind for good.
func unrecorded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	e := &ToolError{Code: CodeInternal, Message: "no ephemeral machine can be made: " + err.Error(), Err: err}
	var le *ledger.Error
	if errors.As(err, &le) {
		e.Hint = le.Fix
	}
	return e
}

// settle says how a call ended that could have made the machine: m, or err.
func (c *claim) settle(m *smol.Machine, err error) {
	if c == nil {
		return
	}
	k := c.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	c.asked--
	switch {
	case err == nil:
		c.made = true
		if c.target == TargetCloud {
			c.machine = m
		}
	case !errors.Is(err, smol.ErrExists) && !refused(err):
		c.unsure = true
	default:
		k.dropUnused(c) // the name is somebody else's, or nobody's
	}
}

// withdraw says that a call has not asked for the machine after all.
func (c *claim) withdraw() {
	if c == nil {
		return
	}
	c.keeper.mu.Lock()
	defer c.keeper.mu.Unlock()
	c.asked--
	c.keeper.dropUnused(c)
}

// dropUnused forgets a machine that no call has made, could have made, or is about to make. The caller holds k.mu.
func (k *keeper) dropUnused(c *claim) {
	if c.asked == 0 && !c.made && !c.unsure {
		k.drop(c)
	}
}

// refused reports whether a create that failed with err is known to have left no machine, because the fleet would not make one, was never asked, or has
// made one that is deleted again.
func refused(err error) bool {
	var e *smol.Error
	var dial *net.OpError
	if !errors.As(err, &e) {
		return false
	}
	if _, several := e.Err.(interface{ Unwrap() []error }); several {
		return false // one of them is why nobody knows, or why the machine could not be deleted
	}
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		return true
	case e.Status == 0:
		return e.Code == smol.CodeInvalid || e.Code == smol.CodeUnsupported
	default:
		return e.Status >= http.StatusBadRequest && e.Status < http.StatusInternalServerError && e.Status != http.StatusRequestTimeout
	}
}

// drop forgets a machine that is not there, or not this session's. The caller holds k.mu.
func (k *keeper) drop(c *claim) {
	delete(k.kept, c.kept)
	if k.ledger == nil || c.target != TargetLocal {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.session.ended), recordBound)
	defer cancel()
	if err := k.ledger.Remove(ctx, c.session.id, c.name); err != nil {
		// Whoever finds it on record sees that there is no such machine, or that it is older.
		k.server.log.Warn("a machine that is gone stays on record", "machine", c.name, "error", err)
	}
}

// forget is called once a machine is known to be gone. Names that are not kept are no error.
func (k *keeper) forget(t Target, name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, c := range k.kept {
		if key.target != t || key.name != name {
			continue
		}
		if c.made, c.machine, c.unsure = false, nil, false; c.asked == 0 {
			k.drop(c)
		}
	}
}
