package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
)

// tokenHelp tells what is in the file.
const tokenHelp = "the `FILE` with the keys, which nobody else may read: on each line TOKEN [ACCOUNT [SCOPE,SCOPE...]], where a key without scopes may do " +
	"what a key can; if there is no such file it is made with one key"

// readTokens reads the keys, or makes one. What is wrong is told without the keys.
func readTokens(name string) ([]cloud.Key, error) {
	if err := makeTokens(name); err != nil {
		return nil, err
	}
	fi, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if fi.Mode().IsRegular() && fi.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("the keys in %s can be read by others; chmod 600 it", name)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var keys []cloud.Key
	for i, line := range strings.Split(string(b), "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
			continue
		case len(fields) > 3:
			return nil, fmt.Errorf("%s:%d: a line is TOKEN [ACCOUNT [SCOPE,SCOPE...]]", name, i+1)
		}
		k := cloud.Key{Token: fields[0]}
		if len(fields) > 1 {
			k.Account = fields[1]
		}
		if len(fields) > 2 {
			k.Scopes = strings.Split(fields[2], ",")
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("there is no key in %s; write one, or remove the file to have it made", name)
	}
	return keys, nil
}

// makeTokens makes the file with one key if there is none.
func makeTokens(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, cloud.NewToken())
	return errors.Join(err, f.Close())
}
