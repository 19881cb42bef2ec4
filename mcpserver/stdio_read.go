package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// run waits for the end of the input and for the answers that are due then, and tells the SDK.
func (c *lines) run() {
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.readAll()
	}()
	select {
	case <-read:
	case <-c.over:
	}
	c.ending()
	c.drain()
	close(c.eof)
}

// readAll takes what comes until the end of the input.
func (c *lines) readAll() {
	r := bufio.NewReaderSize(c.r, 64<<10)
	for {
		line, err := readLine(r)
		if errors.Is(err, errLongLine) {
			c.refuse(nil, jsonrpc.CodeInvalidRequest, "the message is longer than "+bytesText(maxLine))
			continue
		}
		c.take(line)
		if err != nil || c.isClosed() {
			return
		}
	}
}

var errLongLine = errors.New("the line is too long")

// readLine returns the next line. The last one may lack its end. One that is too long is read to its end and not kept.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLongLine // the end is found again by the next read
		default:
			return line, err
		}
	}
}

// byteOrderMark begins what some programs write.
var byteOrderMark = []byte("\xef\xbb\xbf")

// take passes on what is a message and answers what is none.
func (c *lines) take(line []byte) {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, byteOrderMark))
	if len(line) == 0 {
		return
	}
	if line[0] == '[' {
		c.takeBatch(line)
		return
	}
	c.takeOne(line, nil)
}

// takeOne takes a message that came alone, or as a part of a batch.
func (c *lines) takeOne(data []byte, b *batch) {
	if req, id := ordinary(data); req != nil {
		c.pass(req, len(data), id, b)
		return
	}
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	var syntax *json.SyntaxError
	err := json.Unmarshal(data, &head)
	isAnswer := head.Method == nil && (head.Result != nil || head.Error != nil)
	switch {
	case errors.As(err, &syntax):
		c.refuse(b, jsonrpc.CodeParseError, "parse error: "+err.Error())
		return
	case err != nil:
		c.refuse(b, jsonrpc.CodeInvalidRequest, "a message is an object")
		return
	case !validID(head.ID) && !isAnswer:
		c.refuse(b, jsonrpc.CodeInvalidRequest, "id must be a string or an integer of at most 53 bits")
		return
	}
	msg, err := jsonrpc.DecodeMessage(data)
	switch {
	case err == nil:
		c.pass(msg, len(data), head.ID, b)
	case !isAnswer: // an answer to an answer would never end
		c.refuseID(b, head.ID, jsonrpc.CodeInvalidRequest, "invalid request: "+err.Error())
	}
}

// validID reports whether the SDK returns the id as it came: a number becomes a float on its way.
func validID(id json.RawMessage) bool {
	if len(id) == 0 || id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && max(n, -n) <= 1<<53
}

// pass gives a message to the SDK once there is room for it.
func (c *lines) pass(msg jsonrpc.Message, size int, id json.RawMessage, b *batch) {
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		if problem := c.expect(req, size, b); problem != "" {
			c.refuse(b, jsonrpc.CodeInvalidRequest, "id "+clip(string(id), 100)+": "+problem)
			return
		}
	} else if resp, ok := msg.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.asked, resp.ID)
		c.mu.Unlock()
	}
	c.deliver(msg)
}

func (c *lines) deliver(msg jsonrpc.Message) {
	select {
	case c.in <- msg:
		// The SDK works on it now, on this thread. The next read may block in the system, and another thread would have to be woken for the message.
		runtime.Gosched()
	case <-c.eof: // it was left
	case <-c.shut:
	}
}

// expect notes a call that has to be answered, and waits for its turn. It returns what is wrong with it.
func (c *lines) expect(req *jsonrpc.Request, size int, b *batch) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed && len(c.pending) > c.listens && (len(c.pending)-c.listens >= maxPending || c.bytes+size > maxPendingBytes) {
		c.changed.Wait()
	}
	switch {
	case c.pending[req.ID] != nil:
		// With the same id the error would be taken for the answer to the other call.
		return "a call with the same id has no answer yet"
	case req.Method == methodListen && c.listens >= maxListens:
		return "there are too many subscriptions"
	case req.Method == methodListen:
		c.listens++
	}
	c.bytes += size
	c.pending[req.ID] = &pendingCall{method: req.Method, bytes: size, batch: b}
	if b != nil {
		b.open++
	}
	return ""
}

func (c *lines) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// drain waits until all calls are answered, as long as they may take. Questions to the client have no answer any more.
func (c *lines) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	cancel := time.AfterFunc(drainBound, func() { c.cancel() })
	defer cancel.Stop()
	timer := time.AfterFunc(drainBound+giveUpBound, func() {
		c.mu.Lock()
		c.late = true
		c.mu.Unlock()
		c.changed.Broadcast()
		c.out.expire()
	})
	defer timer.Stop()
	for !c.closed && !c.late && (len(c.pending) > c.listens || c.answers > 0 || len(c.asked) > 0) {
		answered := false
		for id := range c.asked {
			delete(c.asked, id)
			c.mu.Unlock()
			c.deliver(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client is gone"}})
			c.mu.Lock()
			answered = true
		}
		if !answered {
			c.changed.Wait()
		}
	}
	c.mu.Unlock()
	c.out.flush()
	c.mu.Lock()
}
