package serve

import (
	"fmt"
	"net"
	"os"
)

// CheckPeer reports whether the process that listens at the other end of c is one of this user or of root; else the error wraps
// [ErrForeign]. A connection over TCP does not tell: such an address is used because it was configured, or stands in a record that only this
// user can write.
func CheckPeer(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	uid, err := peerUID(raw)
	if err != nil {
		return fmt.Errorf("%w, or cannot be told: %w", ErrForeign, err)
	}
	if uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("%w: user %d", ErrForeign, uid)
	}
	return nil
}
