package mcpserver

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// configValue is where a setting is kept. Errors of set say what is possible and never repeat the value, which may be a token that
// was put into the wrong variable.
type configValue interface {
	// set takes the value in the form of an environment variable; "" is none.
	set(s string) error
	// text returns the value in that form.
	text() string
	// json says which type the value has in a file.
	json() jsonType
}

// jsonType is the type that a setting has in a file.
type jsonType string

const (
	jsonString jsonType = "a string"
	jsonNumber jsonType = "a number"
	jsonBool   jsonType = "true or false"
	jsonList   jsonType = "a list of strings"
)

type textValue struct{ p *string }

func (v textValue) text() string   { return *v.p }
func (v textValue) json() jsonType { return jsonString }
func (v textValue) set(s string) error {
	if strings.ContainsAny(s, "\x00\r\n") {
		return errors.New("must be one line")
	}
	*v.p = s
	return nil
}

type wordValue struct {
	p     *string
	words []string
}

func (v wordValue) text() string   { return *v.p }
func (v wordValue) json() jsonType { return jsonString }
func (v wordValue) set(s string) error {
	if !slices.Contains(v.words, s) {
		return fmt.Errorf("must be one of %s", strings.Join(v.words, ", "))
	}
	*v.p = s
	return nil
}

type versionValue struct{ p *string }

var versionForm = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

func (v versionValue) text() string   { return *v.p }
func (v versionValue) json() jsonType { return jsonString }
func (v versionValue) set(s string) error {
	if s != "" && !versionForm.MatchString(s) {
		return errors.New("must be a release as 1.14.0, or empty for no check")
	}
	*v.p = s
	return nil
}

type prefixValue struct{ p *string }

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*-$`)

func (v prefixValue) text() string   { return *v.p }
func (v prefixValue) json() jsonType { return jsonString }
func (v prefixValue) set(s string) error {
	if len(s) > 64 || !prefixForm.MatchString(s) {
		return errors.New("must be letters, digits, '_' and single '-', begin with a letter or digit and end in '-', at most 64 bytes")
	}
	*v.p = s
	return nil
}

type pathValue struct{ p *string }

func (v pathValue) text() string   { return *v.p }
func (v pathValue) json() jsonType { return jsonString }
func (v pathValue) set(s string) error {
	if !strings.HasPrefix(s, "/") || strings.ContainsAny(s, " ?#\x00\r\n") {
		return errors.New("must be a path that begins with '/'")
	}
	*v.p = s
	return nil
}

type intValue struct {
	p        *int
	min, max int
}

func (v intValue) text() string   { return strconv.Itoa(*v.p) }
func (v intValue) json() jsonType { return jsonNumber }
func (v intValue) set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < v.min || n > v.max {
		return fmt.Errorf("must be a whole number from %d to %d", v.min, v.max)
	}
	*v.p = n
	return nil
}

type secsValue struct {
	p   *time.Duration
	min time.Duration
}

// maxSecs is the longest time that can be set, a year, so that sums of them are no overflow.
const maxSecs = 366 * 24 * 3600

func (v secsValue) text() string   { return strconv.FormatInt(int64(*v.p/time.Second), 10) }
func (v secsValue) json() jsonType { return jsonNumber }
func (v secsValue) set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < int(v.min/time.Second) || n > maxSecs {
		return fmt.Errorf("must be a whole number of seconds from %d to %d", v.min/time.Second, maxSecs)
	}
	*v.p = time.Duration(n) * time.Second
	return nil
}

type boolValue struct{ p *bool }

func (v boolValue) text() string   { return strconv.FormatBool(*v.p) }
func (v boolValue) json() jsonType { return jsonBool }
func (v boolValue) set(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return errors.New("must be true or false")
	}
	*v.p = b
	return nil
}

type listValue struct{ p *[]string }

func (v listValue) text() string   { return strings.Join(*v.p, ",") }
func (v listValue) json() jsonType { return jsonList }
func (v listValue) set(s string) error {
	var out []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	*v.p = out
	return nil
}

type toolsetsValue struct{ p *[]string }

func (v toolsetsValue) text() string   { return strings.Join(*v.p, ",") }
func (v toolsetsValue) json() jsonType { return jsonList }
func (v toolsetsValue) set(s string) error {
	var out []string
	if err := (listValue{&out}).set(s); err != nil {
		return err
	}
	if len(out) == 0 || slices.ContainsFunc(out, func(t string) bool { return !slices.Contains(toolsetNames, t) }) {
		return fmt.Errorf("must name some of %s", strings.Join(toolsetNames, ", "))
	}
	*v.p = out
	return nil
}

// pathsValue is a list in the form that PATH has.
type pathsValue struct{ p *[]string }

func (v pathsValue) text() string   { return strings.Join(*v.p, string(filepath.ListSeparator)) }
func (v pathsValue) json() jsonType { return jsonList }
func (v pathsValue) set(s string) error {
	var out []string
	for _, dir := range filepath.SplitList(s) {
		if dir == "" {
			continue
		}
		if !filepath.IsAbs(dir) {
			return errors.New("must be absolute directories")
		}
		out = append(out, filepath.Clean(dir))
	}
	*v.p = out
	return nil
}
