package sandbox

// config is what the set-up is told, on its standard input.
type config struct {
	BootID   string
	Hostname string
	// Said is what the console begins with.
	Said string
	// Env is the default environment of commands; the agent has it as its own.
	Env []string
	// Links are symbolic links to make where nothing is.
	Links []link
	// Binds are parts of the host to show, Mounts are the caller's directories.
	Binds, Mounts []bind
	// Programs are files to copy from the host on the first start, with the names that they are to have besides.
	Programs []program
	// FailAt names a step that is to fail, for tests.
	FailAt string `json:",omitempty"`
}

// link is a symbolic link at Path in the machine.
type link struct{ Path, To string }

// bind shows a file or directory of the host at Target.
type bind struct {
	Source, Target string
	Writable       bool
	// Private: the way to Source may be closed to the ids of the machine.
	Private bool
	// File is the descriptor of a mount made of Source by the parent; zero: there is none, go by the name.
	File int
	// Note is something to say about it on the console.
	Note string `json:",omitempty"`
}

// program is a file of the host that the machine gets a copy of.
type program struct {
	Source, Target string
	// Names are further names for it: hard links, of which hundreds cost no more than their directory entries.
	Names []string
}
