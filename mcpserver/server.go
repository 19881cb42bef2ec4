package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/internal/version"
)

// Options are the knobs of New. Nil and the zero value serve what DefaultConfig asks for.
type Options struct {
	// Config says what to serve and how. Nil: DefaultConfig. It is not written and must not change.
	Config *Config
	// Local and Cloud give the fleets. Nil: those that Config names. One whose target Config does not ask for is not used.
	Local, Cloud FleetSource
	// Logger takes a line for every request. It never gets arguments, output or tokens. Nil: nothing is logged.
	Logger *slog.Logger
	// Version is told to clients. Empty: that of the build.
	Version string
}

// Server gives machines to the clients of one MCP server. It is safe for concurrent use. It must be closed.
type Server struct {
	config  *Config
	log     *slog.Logger
	mcp     *mcp.Server
	tools   map[string]*definition
	order   []*definition
	targets []Target
	sources map[Target]FleetSource
	keeper  *keeper
	watches *watches

	// notify sends a notification to one session; see catchSender.
	notify mcp.MethodHandler

	mu       sync.Mutex
	sessions map[*mcp.ServerSession]*session
	closed   bool
	serving  int            // clients of Serve
	endBy    time.Time      // when the shutdown that has begun must be over; zero, or past, if none has
	ends     sync.WaitGroup // the ends of sessions under way
}

// New returns a server. It does no I/O: fleets are reached at the first call that needs them.
func New(o *Options) (*Server, error) {
	if o == nil {
		o = &Options{}
	}
	s := &Server{config: o.Config, log: o.Logger, sessions: map[*mcp.ServerSession]*session{}, tools: map[string]*definition{}}
	if s.config == nil {
		s.config = DefaultConfig()
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.targets = targetsOf(s.config)
	var err error
	if s.sources, err = sourcesOf(s.config, s.targets, s.log, o); err != nil {
		return nil, fmt.Errorf("mcpserver: %w", err)
	}
	s.keeper = newKeeper(s)
	s.watches = newWatches(s)
	s.order = listed(s.config)
	v := o.Version
	if v == "" {
		v = version.String()
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "smol-mcp", Title: "smol machines", Version: v}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		SetCacheable: s.cacheable, SubscribeHandler: s.watches.subscribe, UnsubscribeHandler: s.watches.unsubscribe,
	})
	s.register()
	return s, nil
}

// sourcesOf returns a source for each target.
func sourcesOf(c *Config, targets []Target, log *slog.Logger, o *Options) (map[Target]FleetSource, error) {
	out := map[Target]FleetSource{}
	for _, t := range targets {
		switch {
		case t == TargetLocal && o.Local != nil:
			out[t] = o.Local
		case t == TargetLocal:
			src, err := newLocalSource(c, log)
			if err != nil {
				return nil, err
			}
			out[t] = src
		case o.Cloud != nil:
			out[t] = o.Cloud
		default:
			out[t] = newCloudSource(c)
		}
	}
	return out, nil
}

// register adds all that clients can use.
func (s *Server) register() {
	s.mcp.AddSendingMiddleware(s.catchSender)
	s.mcp.AddReceivingMiddleware(s.middleware())
	s.registerResources()
	for _, d := range s.order {
		s.tools[d.name] = d
		s.mcp.AddTool(d.tool(s.both()), s.dispatch(d))
	}
}

// cacheable says how long clients may keep what they are told: lists hold for the life of the server, resources not at all.
func (s *Server) cacheable(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
	if _, read := req.(*mcp.ReadResourceRequest); !read {
		c.TTLMs = 5 * 60 * 1000
	}
}

// both reports whether a call has to name its fleet.
func (s *Server) both() bool { return len(s.targets) > 1 }

// MCP returns the server of the protocol, to be connected to transports. See also [Server.Serve].
func (s *Server) MCP() *mcp.Server { return s.mcp }
