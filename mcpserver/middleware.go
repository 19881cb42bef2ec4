package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxRunning is how many calls are worked on at once, maxWaiting how many wait for their turn. More are refused, so that memory is
	// bounded whatever a client sends.
	maxRunning, maxWaiting = 128, 256
	// callMargin is what a call gets beyond the longest that its command and its machine may take.
	callMargin = 2 * time.Minute
)

// middleware builds the chain that every request goes through, from the outside in. It is the same for every transport.
func (s *Server) middleware() mcp.Middleware {
	limit := newGate(maxRunning, maxWaiting)
	chain := []mcp.Middleware{
		s.logRequests,    // first, so that what recovers is logged as a failure
		s.recoverPanics,  // a panic is an answer, and the server lives
		limit.middleware, // the time of a call begins with its turn
		s.boundTime,
		s.adapt,
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		for i := len(chain) - 1; i >= 0; i-- {
			next = chain[i](next)
		}
		return next
	}
}

// recoverPanics makes a panic an error of its request.
func (s *Server) recoverPanics(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			r := recover()
			if r == nil {
				return
			}
			s.log.Error("panic", "request", requestID(ctx), "method", method, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			if method == methodCall {
				e := fail(CodeInternal, "the server failed at this call").hint("It goes on. Its log has request %s.", requestID(ctx))
				res, err = failure(e), nil
			}
		}()
		return next(ctx, method, req)
	}
}

const (
	methodCall       = "tools/call"
	methodList       = "tools/list"
	methodRead       = "resources/read"
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
)

type requestKey struct{}

var requestCount atomic.Uint64

// requestID returns the id that a request has in the log.
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// logRequests gives each request an id and logs how it ended. Arguments and results are never logged: they hold secrets.
func (s *Server) logRequests(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		growStack(len(method))
		id := "r" + strconv.FormatUint(requestCount.Add(1), 10)
		ctx = context.WithValue(ctx, requestKey{}, id)
		began := time.Now()
		res, err := next(ctx, method, req)
		attrs := []slog.Attr{slog.String("request", id), slog.String("method", method), slog.Duration("took", time.Since(began))}
		level := slog.LevelInfo
		if ct, ok := req.(*mcp.CallToolRequest); ok && ct.Params != nil {
			attrs = append(attrs, slog.String("tool", clip(ct.Params.Name, 64)))
		}
		if r, ok := res.(*mcp.CallToolResult); ok && r != nil && r.IsError {
			attrs = append(attrs, slog.String("error", errorCode(r)))
		}
		if err != nil {
			level = slog.LevelWarn
			attrs = append(attrs, slog.String("error", clip(err.Error(), 400)))
		}
		s.log.LogAttrs(ctx, level, "request", attrs...)
		return res, err
	}
}

// errorCode returns the code of a failure. Its text may quote arguments.
func errorCode(r *mcp.CallToolResult) string {
	if len(r.Content) == 0 {
		return ""
	}
	t, _ := r.Content[0].(*mcp.TextContent)
	if t == nil {
		return ""
	}
	code, _, _ := strings.Cut(t.Text, ":")
	return clip(code, 64)
}

// boundTime ends calls that take longer than any can.
func (s *Server) boundTime(next mcp.MethodHandler) mcp.MethodHandler {
	bound := s.config.MaxExecTimeout + s.config.ReadyTimeout + s.config.ServeStartTimeout + callMargin
	cause := fmt.Errorf("the call took longer than %s: %w", bound, context.DeadlineExceeded)
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != methodCall && method != methodRead {
			return next(ctx, method, req)
		}
		ctx, cancel := context.WithTimeoutCause(ctx, bound, cause)
		defer cancel()
		return next(ctx, method, req)
	}
}

// adapt makes answers of the SDK fit the client: the tools of its fleet, and instructions that are true now.
func (s *Server) adapt(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if err != nil {
			return res, err
		}
		switch r := res.(type) {
		case *mcp.InitializeResult:
			r.Instructions = s.instructions(ctx)
		case *mcp.DiscoverResult:
			r.Instructions = s.instructions(ctx)
		case *mcp.ListToolsResult:
			conn, ok := req.GetSession().(*mcp.ServerSession)
			if !ok {
				return res, nil
			}
			ss, err := s.session(ctx, conn)
			if err != nil {
				return nil, err
			}
			return s.narrowList(ss, r), nil
		}
		return res, nil
	}
}

// gate lets a number of calls through at once.
type gate struct {
	running chan struct{}
	waiting atomic.Int64
	most    int64
}

func newGate(running, waiting int) *gate {
	return &gate{running: make(chan struct{}, running), most: int64(waiting)}
}

var errBusy = errors.New("busy")

// enter waits for a turn; leave must be called if it returns nil.
func (g *gate) enter(ctx context.Context) error {
	select {
	case g.running <- struct{}{}:
		return nil
	default:
	}
	if g.waiting.Add(1) > g.most {
		g.waiting.Add(-1)
		return errBusy
	}
	defer g.waiting.Add(-1)
	select {
	case g.running <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *gate) leave() { <-g.running }

func (g *gate) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != methodCall && method != methodRead {
			return next(ctx, method, req)
		}
		if err := g.enter(ctx); err != nil {
			e := toToolError(ctx, err)
			if errors.Is(err, errBusy) {
				e = fail(CodeRateLimited, "%d calls wait for their turn already", g.most).hint("Ask again when some have been answered.")
			}
			if method == methodCall {
				return failure(e), nil
			}
			return nil, protocolError(ctx, e)
		}
		defer g.leave()
		return next(ctx, method, req)
	}
}
