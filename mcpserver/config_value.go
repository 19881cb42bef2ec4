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
	"unicode"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/smol/local"
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

// textValue is a text that fits its rule.
type textValue struct {
	p    *string
	rule func(s string) error
}

func (v textValue) text() string   { return *v.p }
func (v textValue) json() jsonType { return jsonString }
func (v textValue) set(s string) error {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("must be one line of text, without control characters")
	}
	if s != "" {
		if err := v.rule(s); err != nil {
			return err
		}
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
	if _, err := local.Supervise(&local.ServeOptions{MinVersion: s}); s != "" && (err != nil || !versionForm.MatchString(s)) {
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

// listValue is a list of which each item fits the rule.
type listValue struct {
	p    *[]string
	rule func(item string) error
}

func (v listValue) text() string   { return strings.Join(*v.p, ",") }
func (v listValue) json() jsonType { return jsonList }
func (v listValue) set(s string) error {
	var out []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		if err := v.rule(item); err != nil {
			return err
		}
		out = append(out, item)
	}
	*v.p = out
	return nil
}

type toolsetsValue struct{ p *[]string }

func (v toolsetsValue) text() string   { return strings.Join(*v.p, ",") }
func (v toolsetsValue) json() jsonType { return jsonList }
func (v toolsetsValue) set(s string) error {
	wrong := fmt.Errorf("must name some of %s", strings.Join(toolsetNames, ", "))
	var out []string
	err := listValue{&out, func(item string) error {
		if !slices.Contains(toolsetNames, item) {
			return wrong
		}
		return nil
	}}.set(s)
	if err != nil || len(out) == 0 {
		return wrong
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
		if err := isMountRoot(dir); err != nil {
			return fmt.Errorf("must be absolute directories that exist; number %d is not: %w", len(out)+1, err)
		}
		out = append(out, filepath.Clean(dir))
	}
	*v.p = out
	return nil
}
