package mcpserver

import (
	"regexp"
	"slices"
	"strings"
)

// goName finds what only a program that uses the library can do something with.
var goName = regexp.MustCompile(`\b(?:smol|Spec|Cmd|Job|Machine|Fleet|Info|Port|Options|ExecRequest)\.[A-Z]\w*|\b[A-Z][a-z]\w*Options\b|\b(?:DiskGiB|OverlayGiB|MemoryMiB|AllowCIDRs|RetryAfter)\b`)

// inArguments returns a text of the library with the names that an agent knows.
func inArguments(text string) string { return argumentNames.Replace(text) }

// hintInArguments returns a hint of the library without the parts that an agent cannot follow.
func hintInArguments(hint string) string {
	parts := strings.Split(inArguments(hint), "; ")
	return strings.Join(slices.DeleteFunc(parts, goName.MatchString), "; ")
}

// argumentNames turns what the library says into what the tools have: of two that begin alike the longer one comes first.
var argumentNames = strings.NewReplacer(
	// Advice that no tool can follow as it is.
	"; a delete can do that with DeleteOptions.Cascade", "",
	", or use DeleteOptions.Cascade", "",
	"stop it and start it with StartOptions.Branchable, or create it with Spec.Branchable; that cannot be switched on while it runs",
	"create it with branchable: true; that cannot be switched on later",
	"with Spec.Branchable", "with branchable: true",
	"for an image that is not public give CreateOptions.RegistryUser or StartOptions.RegistryUser",
	"the key to an image that is not public belongs into smolvm's configuration",
	" or in CreateOptions and StartOptions", "",
	"another Port.Host, or 0 for a free one", "another host, or leave it out for a free one",
	"Machine.Command has no limit of output; or redirect", "redirect",
	"larger Spec.Resources", "a larger storageGb",
	"with Machine.CopyFS", "with write-file",
	", with Machine.MkdirAll", "",
	"Machine.Jobs lists", "list-commands lists",
	"as Job.ID tells it", "as run-command gave it",
	"use Cmd.Run, or an image", "use an image",
	": call Start", ": start-machine does",
	"wait as long as RetryAfter says, and ask", "wait, and ask",
	", or Options.Token", "", ", or Options.Proxy", "", "Options.CAFile", "caFile",
	"lift the block with Spec.Network", "lift the block with network: open or an allow-list",
	"Info.URL", "url",

	"Spec.Env or Spec.Dir", "env", ", or 0 for the default", "",
	"Spec.Name", "name", "Spec.Image", "image", "Spec.Command", "cmd", "Spec.Env", "env", "Spec.Dir", "workdir", "Spec.Ports", "ports",
	"Spec.Mounts", "mounts", "Spec.Branchable", "branchable", "Spec.Labels", "labels",
	"Spec.Resources.CPUs", "cpus", "Spec.Resources.MemoryMiB", "memoryMb", "Spec.Resources.DiskGiB", "storageGb",
	"Spec.Resources.OverlayGiB", "overlayGb", "DiskGiB", "storageGb",
	"Spec.Network.AllowHosts", "allowHosts", "Spec.Network.AllowCIDRs", "allowCidrs", "AllowCIDRs", "allowCidrs", "Spec.Network.Open", "network: open",
	"].Guest", "].guest", "].Host", "].host", "].Source", "].source", "].Target", "].target",
	"Cmd.Args", "command", "Cmd.Env", "env", "Cmd.Dir", "workdir", "Cmd.Stdin", "stdin", "Cmd.Timeout", "timeoutSecs",
	"ExecRequest.Argv", "command", "ExecRequest.Env", "env", "ExecRequest.Dir", "workdir", "ExecRequest.Timeout", "timeoutSecs",
	"PollOptions.From.Stdout", "stdoutOffset", "PollOptions.From.Stderr", "stderrOffset", "PollOptions.From", "the offset", "PollOptions.Wait", "waitSecs",
	"OpenOptions.Offset", "offset", "OpenOptions.Length", "length", "LogOptions.Tail", "tail", "ListOptions.Labels", "labels",
)
