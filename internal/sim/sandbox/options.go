package sandbox

// Options are the knobs of [New]. The zero value is what nearly everybody wants.
type Options struct {
	// Busybox is the path of a statically linked busybox, for the images made of it. Empty: /bin/busybox or
	// /usr/bin/busybox, whichever is static.
	Busybox string
	// GOROOT is the Go tree shown to golang images. Empty: that of the go command in the PATH, asked once.
	GOROOT string
}
