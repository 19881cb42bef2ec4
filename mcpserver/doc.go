// Package mcpserver is a server of the Model Context Protocol that gives an AI agent virtual machines.
//
// It is thin over package smol: a tool turns its arguments into one or two calls of the library and their outcome into a result.
// What the package adds is what the protocol needs: schemas, a session with machines of its own that end with it, results that fit
// into a conversation, and errors of a closed set that say what to do.
//
//	cfg, err := mcpserver.LoadConfig(os.LookupEnv)
//	if err != nil {
//		return err
//	}
//	srv, err := mcpserver.New(&mcpserver.Options{Config: cfg, Logger: logger})
//	if err != nil {
//		return err
//	}
//	defer srv.Close(context.WithoutCancel(ctx))
//	return srv.Serve(ctx, mcpserver.Stdio(os.Stdin, os.Stdout))
//
// # Layout
//
// Each tool is a file tool_NAME.go with its arguments, its result and one function; definitions in tools.go lists them. A call goes
// through the chain that middleware in middleware.go builds, then through dispatch in call.go, which finds the session, the fleet
// and the arguments.
package mcpserver
