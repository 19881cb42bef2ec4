package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// maxFrame bounds one message either way. The kernel takes about 2 MiB of arguments and environment, which base64 makes
// larger by a third.
const maxFrame = 4 << 20

// maxFiles is the most descriptors a message carries: stdin, stdout and stderr.
const maxFiles = 3

var (
	errFrameSize = fmt.Errorf("message of more than %d bytes", maxFrame)
	errFiles     = fmt.Errorf("message with more than %d descriptors", maxFiles)
)

// writeFrame sends a message: its length in four bytes, which carry the descriptors, and then its JSON.
func writeFrame(c *net.UnixConn, v any, files ...int) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) > maxFrame {
		return errFrameSize
	}
	var oob []byte
	if len(files) > 0 {
		oob = unix.UnixRights(files...)
	}
	// Four bytes always go out whole, unlike a long message, so the descriptors belong to exactly this frame.
	if _, _, err := c.WriteMsgUnix(binary.BigEndian.AppendUint32(nil, uint32(len(body))), oob, nil); err != nil {
		return err
	}
	_, err = c.Write(body)
	return err
}

// readFrame receives a message into v. The descriptors returned are the caller's to close; on an error there are none.
func readFrame(c *net.UnixConn, v any) (files []int, err error) {
	defer func() {
		if err != nil {
			closeAll(files)
			files = nil
		}
	}()
	var head [4]byte
	for n := 0; n < len(head); {
		// One byte of the header is enough to carry descriptors, so each read must take them.
		oob := make([]byte, unix.CmsgSpace((maxFiles+1)*4))
		m, oobn, flags, _, err := c.ReadMsgUnix(head[n:], oob)
		got, ferr := rights(oob[:oobn])
		files = append(files, got...)
		switch {
		case err != nil:
			return files, err
		case ferr != nil:
			return files, ferr
		case m == 0 && n > 0:
			return files, io.ErrUnexpectedEOF
		case m == 0:
			return files, io.EOF
		case flags&unix.MSG_CTRUNC != 0 || len(files) > maxFiles:
			return files, errFiles
		}
		n += m
	}
	return files, readBody(c, head, v)
}

// readBody reads what follows the header.
func readBody(r io.Reader, head [4]byte, v any) error {
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return errFrameSize
	}
	body, err := io.ReadAll(io.LimitReader(r, int64(size))) // not made at once: the size is only a claim
	if err != nil {
		return err
	}
	if len(body) < int(size) {
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(body, v)
}

// rights returns the descriptors in a control message, also when it holds something else besides.
func rights(oob []byte) (files []int, err error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	for i := range messages {
		got, e := unix.ParseUnixRights(&messages[i])
		files, err = append(files, got...), errors.Join(err, e)
	}
	return files, err
}

func closeAll(files []int) {
	for _, f := range files {
		unix.Close(f)
	}
}
