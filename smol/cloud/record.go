package cloud

import (
	"context"
	"time"

	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	"github.com/smol-machines/smol-go/smol"
)

// cleanupTime bounds deletes that must happen although the caller's context has ended.
const cleanupTime = 30 * time.Second

// record sends in, unless it is nil, and returns the machine that the answer describes. What the answer leaves out is zero, the id too.
func (b *Backend) record(ctx context.Context, c *call, in any) (*cloudwire.MachineInfo, error) {
	var m cloudwire.MachineInfo
	if err := b.send(ctx, c, in, &m); err != nil {
		return nil, err
	}
	return &m, nil
}

// fail makes an error of the library's own about c.
func (c *call) fail(code smol.Code, message string) *smol.Error {
	return &smol.Error{Op: c.Op, Machine: c.Machine, Path: c.File, Code: code, Message: message}
}

// whole returns what the service says about the machine of c if its answer m does not: some answers carry the state only, or nothing.
func (b *Backend) whole(ctx context.Context, c *call, m *cloudwire.MachineInfo) (*smol.Info, error) {
	if m.ID != "" && m.State != "" {
		return infoOf(m), nil
	}
	return b.byID(ctx, c)
}

// byID asks for the machine of c, on its behalf.
func (b *Backend) byID(ctx context.Context, c *call) (*smol.Info, error) {
	ask, err := newCall(opInspect, c.Machine)
	if err != nil {
		return nil, err
	}
	ask.Op = c.Op
	m, err := b.record(ctx, ask, nil)
	if err == nil && m.ID == "" {
		err = c.fail(smol.CodeUnknown, "the reply describes no machine")
	}
	if err != nil {
		return nil, err
	}
	return infoOf(m), nil
}
