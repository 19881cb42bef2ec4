package serve

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/internal/private"
)

const (
	logsKept   = 3       // older logs, serve.log.1 being the newest
	maxLog     = 8 << 20 // of a serve that runs long
	maxTail    = 2 << 10 // of what an error tells
	logChecked = time.Minute
)

// openLog rotates the logs and returns an empty one. Every serve has a log of its own.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		if err := rotate(path); err != nil {
			return nil, err
		}
	}
	// For appending: what trims the log does not move the place where the serve writes.
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// rotate gives each log the next number; the oldest one goes.
func rotate(path string) error {
	for i := logsKept - 1; i > 0; i-- {
		err := os.Rename(fmt.Sprintf("%s.%d", path, i), fmt.Sprintf("%s.%d", path, i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(path, path+".1")
}

// trimLog keeps the log of a serve that runs below limit. The serve holds the file, so it is copied and cut; lines that come in that moment are
// lost.
func trimLog(path string, limit int64) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() <= limit {
		return err
	}
	from, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	for i := logsKept - 1; i > 0; i-- {
		_ = os.Rename(fmt.Sprintf("%s.%d", path, i), fmt.Sprintf("%s.%d", path, i+1))
	}
	to, err := os.OpenFile(path+".1", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close(), from.Truncate(0))
}

// watchLog trims the log from time to time until stop is called. Of the programs that share a serve, one at a time does.
func (s *Supervisor) watchLog() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(logChecked)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			lock, err := private.TryLock(s.path("serve.lock"), true)
			if lock == nil || err != nil {
				continue
			}
			if err := trimLog(s.path("serve.log"), maxLog); err != nil {
				s.c.Log.Debug("the log of the serve is not trimmed", "error", err)
			}
			lock.Release()
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// tail returns the end of the log, fit for an error.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	b := make([]byte, min(maxTail, info.Size()))
	n, err := f.ReadAt(b, info.Size()-int64(len(b)))
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	b = b[:n]
	for len(b) > 0 && info.Size() > maxTail && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	printable := func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}
	return strings.TrimSpace(strings.Map(printable, string(b)))
}
