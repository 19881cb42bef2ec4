package mcpserver_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// unset are the fields of the library that no tool sets, so that no error about them reaches an agent.
var unset = []string{
	"Spec.AutoStop", "Spec.TTL", "Spec.Ephemeral", "Cmd.Stdout", "Cmd.Stderr", "Cmd.User", "ExecRequest.User", "WriteOptions", "MkdirOptions",
	"RemoveOptions", "CopyOptions", "GrepOptions", "OutputOptions", "BranchOptions", "WaitOptions", "StartOptions.RegistryUser", "PollOptions.Budget",
	"Options.Tenant", "Options.HTTPClient", "Options.DialTimeout", "ServeOptions", "Machine.Discard", "Fleet.RunOnce", "Job.Wait", "Job.Poll",
	"Machine.Stop; a machine that idles", "a bare machine has no workload",
}

// TestLibraryWordsAreTranslated looks at every text of the library in which a name of Go stands: it is about what no tool sets, or an agent
// reads it with the names of arguments, or leaves it out of a hint.
func TestLibraryWordsAreTranslated(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, dir := range []string{"../smol", "../smol/local", "../smol/cloud", "../internal/rest", "../internal/guest", "../internal/serve"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for text, hint := range literals(t, file) {
				if len(mcpserver.NamesGo(text)) == 0 {
					continue
				}
				seen++
				got, left := mcpserver.AsAnAgentReads(text)
				if hint {
					got = left
				}
				for _, name := range mcpserver.NamesGo(got) {
					if !slices.ContainsFunc(unset, func(u string) bool { return strings.Contains(text, u) }) {
						t.Errorf("%s: an agent reads %s in %q", file, name, got)
					}
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d texts name something of Go; there were more", seen)
	}
}

// literals returns the strings of a file, and of each whether it is the value of a field that is called Hint.
func literals(t *testing.T, file string) map[string]bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	add := func(n ast.Node, hint bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				out[text] = out[text] || hint
			}
			return true
		})
	}
	add(f, false)
	ast.Inspect(f, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Hint" {
				add(kv.Value, true)
			}
		}
		return true
	})
	return out
}

// TestErrorsNameArguments provokes errors on both fleets and looks for names of Go in them.
func TestErrorsNameArguments(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	create := func(more args) args {
		out := args{"image": "alpine", "name": "new", "network": "open", "start": false}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	type row struct {
		tool string
		args args
		want string
	}
	both := []row{
		{"create-machine", create(args{"name": "a/b"}), "name"},
		{"create-machine", create(args{"image": "no image"}), "image"},
		{"create-machine", create(args{"image": "missing", "start": true}), "NOT_FOUND"},
		{"create-machine", create(args{"memoryMb": 1}), "memoryMb"},
		{"create-machine", create(args{"cpus": 100_000}), "cpus"},
		{"create-machine", create(args{"storageGb": -1}), "storageGb"},
		{"create-machine", create(args{"overlayGb": -1}), "overlayGb"},
		{"create-machine", create(args{"allowHosts": args2("1.1.1.1")}), "belongs into allowCidrs"},
		{"create-machine", create(args{"allowCidrs": args2("wide")}), "allowCidrs[0]"},
		{"create-machine", create(args{"cmd": args2("a\x00b")}), "cmd[0]"},
		{"run-command", args{"name": "box", "command": args2("a\x00b")}, "command[0]"},
		{"run-command", args{"name": "box", "command": "true", "workdir": "here"}, "workdir"},
		{"poll-command", args{"name": "box", "job": "j/k"}, "job"},
		{"poll-command", args{"name": "box", "job": long + long}, "as run-command gave it"},
		{"poll-command", args{"name": "box", "job": "0123456789abcdef"}, "list-commands lists"},
		{"poll-command", args{"name": "box", "job": "0123456789abcdef", "stdoutOffset": -1}, "stdoutOffset"},
		{"branch-machine", args{"name": "box", "childName": "a/b"}, "childName"},
		{"branch-machine", args{"name": "box", "childName": "twig"}, "branchable: true"},
		{"read-file", args{"name": "box", "path": "here"}, "path"},
	}
	fleets := map[string]func(t *testing.T) (*server, []row){
		"local": func(t *testing.T) (*server, []row) {
			s, _ := locally(t, nil)
			return s, []row{
				{"list-machines", args{"labels": args{"a": "b"}}, "labels is set"},
				{"create-machine", create(args{"image": "x.tar"}), "image"},
				{"create-machine", create(args{"ports": []any{args{"guest": 80, "host": 8081}, args{"guest": 81, "host": 8081}}}), "ports[1].host"},
				{"create-machine", args{"image": "alpine"}, "network: open, or allowHosts"},
				{"pull-image", args{"name": "box", "image": "missing"}, "NOT_FOUND"},
			}
		},
		"cloud": func(t *testing.T) (*server, []row) {
			s, _ := inCloud(t, nil)
			return s, []row{
				{"create-machine", create(args{"name": long}), "name"},
				{"create-machine", create(args{"overlayGb": 1}), "overlayGb"},
				{"list-machines", args{"labels": args{"a=b": "c"}}, "labels"},
				{"pull-image", args{"name": "box", "image": "alpine"}, "UNSUPPORTED"},
			}
		},
	}
	for name, start := range fleets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, rows := start(t)
			c := connect(t, s.Server, nil)
			c.call("create-machine", args{"image": "alpine", "name": "box", "network": "open"})
			for _, r := range append(slices.Clone(both), rows...) {
				res := c.raw(r.tool, r.args)
				text := textOf(t, res)
				if !res.IsError || !strings.Contains(text, r.want) || len(mcpserver.NamesGo(text)) > 0 {
					t.Errorf("%s(%v): error %v without %q or with %v: %s", r.tool, r.args, res.IsError, r.want, mcpserver.NamesGo(text), text)
				}
			}
		})
	}
}

// TestDeleteWithBranches holds that an agent is told which branches are in the way, and not of an option that it has not.
func TestDeleteWithBranches(t *testing.T) {
	t.Parallel()
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: guest(), Version: "1.16.0"})
	s := serve(t, func(o *mcpserver.Options) {
		o.Config.Targets, o.Local = "local", mcpserver.FixedFleet(l.Service(t).Fleet)
	})
	c := connect(t, s.Server, nil)
	c.call("create-machine", args{"image": "alpine", "name": "base", "network": "open", "branchable": true})
	c.call("branch-machine", args{"name": "base", "childName": "twig"})
	for _, tool := range []string{"delete-machine", "run-command", "stop-machine"} {
		a := args{"name": "base"}
		if tool == "run-command" {
			a["command"] = "true"
		}
		text := c.fails(mcpserver.CodeConflict, tool, a)
		if len(mcpserver.NamesGo(text)) > 0 || !strings.Contains(text, "ranches") {
			t.Errorf("%s: %s", tool, text)
		}
	}
}

// TestCreateThatDoesNotComeUp holds that an agent is told what became of the machine, and how to see why.
func TestCreateThatDoesNotComeUp(t *testing.T) {
	t.Parallel()
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: guest(), Faults: []smoltest.Fault{{Path: "/api/v1/machines/*/exec", Action: smoltest.Fail, Status: 503}}})
	s := serve(t, func(o *mcpserver.Options) {
		o.Config.Targets, o.Local, o.Config.ReadyTimeout = "local", mcpserver.FixedFleet(l.Service(t).Fleet), 200*time.Millisecond
	})
	c := connect(t, s.Server, nil)
	text := c.fails(mcpserver.CodeNotReady, "create-machine", args{"image": "alpine", "network": "open"})
	if !strings.Contains(text, "deleted again") || !strings.Contains(text, "machine-logs") {
		t.Errorf("the error says %s", text)
	}
	if names := listNames(c); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}
