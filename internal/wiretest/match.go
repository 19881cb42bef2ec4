package wiretest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// patterns are the placeholders of replies.
var patterns = map[string]string{
	"any":    `[^\n]*`,
	"text":   `[^\n]+`,
	"all":    `(?s:.*)`,
	"some":   `(?s:.+)`,
	"int":    `-?[0-9]+`,
	"number": `-?[0-9]+(?:\.[0-9]+)?`,
	"hex8":   `[0-9a-f]{8}`,
	"hex16":  `[0-9a-f]{16}`,
	"hex32":  `[0-9a-f]{32}`,
	"time":   `[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z`,
}

var placeholder = regexp.MustCompile(`\{\{([a-z]+[0-9]*)(?::([^{}]*))?\}\}`)

// expand replaces the placeholders that stand for one text: those in vars, {{repeat:N:TEXT}} and {{hex:DIGITS}}. Others stay.
func expand(text string, vars map[string]string) (string, error) {
	var bad error
	out := placeholder.ReplaceAllStringFunc(text, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		if v, ok := vars[m[1]]; ok && m[2] == "" {
			return v
		}
		switch m[1] {
		case "repeat":
			count, what, _ := strings.Cut(m[2], ":")
			n, err := strconv.Atoi(count)
			if err != nil {
				bad = fmt.Errorf("%s: %w", p, err)
			}
			return strings.Repeat(what, n)
		case "hex":
			b, err := hex.DecodeString(strings.ReplaceAll(m[2], " ", ""))
			if err != nil {
				bad = fmt.Errorf("%s: %w", p, err)
			}
			return string(b)
		}
		return p
	})
	return out, bad
}

// latin makes a rune of each byte: regular expressions know no bytes.
func latin(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

// compile compiles a pattern for texts that went through latin; with prefix it need match the beginning only.
func compile(pattern string, prefix bool) (*regexp.Regexp, error) {
	pattern = latin(pattern)
	var b strings.Builder
	b.WriteString(`\A`)
	for {
		at := placeholder.FindStringSubmatchIndex(pattern)
		if at == nil {
			break
		}
		name := pattern[at[2]:at[3]]
		exp, ok := patterns[name]
		if !ok {
			return nil, fmt.Errorf("there is no placeholder {{%s}}", name)
		}
		b.WriteString(regexp.QuoteMeta(pattern[:at[0]]) + exp)
		pattern = pattern[at[1]:]
	}
	b.WriteString(regexp.QuoteMeta(pattern))
	if !prefix {
		b.WriteString(`\z`)
	}
	return regexp.Compile(b.String())
}

// match compares text with a pattern.
func match(pattern, text string) error {
	if pattern == text && !strings.Contains(pattern, "{{") {
		return nil // an expression of megabytes takes seconds
	}
	const tail = 64 << 10
	if strings.HasPrefix(pattern, "{{all}}") && len(text) > tail {
		text = text[len(text)-tail:] // expressions are slow on megabytes, and what stands for anything may be shorter
	}
	re, err := compile(pattern, false)
	if err != nil {
		return err
	}
	if !re.MatchString(latin(text)) {
		return fmt.Errorf("got  %s\nwant %s", clip(text), clip(pattern))
	}
	return nil
}

func clip(s string) string {
	if len(s) > 2000 {
		return fmt.Sprintf("%q… (%d bytes)", s[:2000], len(s))
	}
	return strconv.Quote(s)
}

// matchJSON compares a JSON body with a JSON pattern.
func matchJSON(pattern, body string) error {
	want, err := decode(pattern)
	if err != nil {
		return fmt.Errorf("the transcript's JSON: %w", err)
	}
	got, err := decode(body)
	if err != nil {
		return fmt.Errorf("got %s: %w", clip(body), err)
	}
	if err := matchValue("$", want, got); err != nil {
		return fmt.Errorf("%w\nin %s", err, clip(body))
	}
	return nil
}

func decode(s string) (any, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(s)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, fmt.Errorf("something after the JSON value")
	}
	return v, nil
}

func matchValue(path string, want, got any) error {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is %v, want an object", path, got)
		}
		return matchObject(path, w, g)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Errorf("%s is %v, want %d elements", path, got, len(w))
		}
		for i := range w {
			if err := matchValue(fmt.Sprintf("%s[%d]", path, i), w[i], g[i]); err != nil {
				return err
			}
		}
		return nil
	case string:
		if n, ok := got.(json.Number); ok && (w == "{{int}}" || w == "{{number}}") {
			return match(w, n.String())
		}
		g, ok := got.(string)
		if !ok {
			return fmt.Errorf("%s is %v, want a string", path, got)
		}
		// A string of JSON is no line: there {{any}} and {{text}} take newlines, too.
		if err := match(strings.NewReplacer("{{any}}", "{{all}}", "{{text}}", "{{some}}").Replace(w), g); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	default:
		if want != got {
			return fmt.Errorf("%s is %v, want %v", path, got, want)
		}
		return nil
	}
}

// matchObject knows the members that are not members: "name?" is optional, "..." allows others, and the value {{absent}} wants none.
func matchObject(path string, want, got map[string]any) error {
	known := map[string]bool{}
	for name, w := range want {
		if name == "..." {
			continue
		}
		plain := strings.TrimSuffix(name, "?")
		known[plain] = true
		g, ok := got[plain]
		switch {
		case w == "{{absent}}":
			if ok {
				return fmt.Errorf("%s.%s is there: %v", path, plain, g)
			}
		case !ok && plain != name:
		case !ok:
			return fmt.Errorf("%s.%s is missing", path, plain)
		default:
			if err := matchValue(path+"."+plain, w, g); err != nil {
				return err
			}
		}
	}
	if _, open := want["..."]; open {
		return nil
	}
	for name := range got {
		if !known[name] {
			return fmt.Errorf("%s.%s is not expected", path, name)
		}
	}
	return nil
}
