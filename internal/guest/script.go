package guest

import (
	_ "embed" // the sources
	"strings"
)

// The sources of the runner's scripts.
var (
	//go:embed sh/lib.sh
	libSource string
	//go:embed sh/outer.sh
	outerSource string
	//go:embed sh/start.sh
	startSource string
	//go:embed sh/keeper.sh
	keeperSource string
	//go:embed sh/poll.sh
	pollSource string
	//go:embed sh/signal.sh
	signalSource string
	//go:embed sh/setup.sh
	setupSource string
	//go:embed sh/drop.sh
	dropSource string
	//go:embed sh/list.sh
	listSource string
	//go:embed sh/grep.sh
	grepSource string
	//go:embed sh/remove.sh
	removeSource string
	//go:embed sh/prune.sh
	pruneSource string
)

// The scripts of the runner, one an operation. They travel with every exec, so they go without their comments. Start hands what the
// keeper needs on as text.
var (
	startScript = "_jlib=" + quote(strip(libSource)) + "\n_jk=$_jlib" + quote(strip(dropSource)+strip(keeperSource)) + "\neval \"$_jlib\"\n" +
		strip(outerSource) + strip(startSource)
	pollScript   = strip(libSource) + strip(outerSource) + strip(pollSource)
	signalScript = strip(libSource) + strip(outerSource) + strip(signalSource)
	setupScript  = strip(libSource) + strip(outerSource) + strip(setupSource)
	listScript   = strip(libSource) + strip(outerSource) + strip(listSource)
	grepScript   = strip(libSource) + strip(outerSource) + strip(grepSource)
	removeScript = strip(libSource) + strip(outerSource) + strip(dropSource) + strip(removeSource)
	pruneScript  = strip(libSource) + strip(outerSource) + strip(dropSource) + strip(pruneSource)
)

// strip takes comment lines, empty lines and indentation out of a source. No string in the sources goes over several lines.
func strip(source string) string {
	var b strings.Builder
	for line := range strings.Lines(source) {
		line = strings.TrimLeft(line, " ")
		if line != "\n" && !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}
