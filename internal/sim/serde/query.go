package serde

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// Query sets *into, a pointer to a struct, from a query string. Names that the struct does not have are ignored. Bad escapes stand for
// themselves, as the services take them. The error is an [*Error].
func Query(raw string, into any) error {
	v := reflect.ValueOf(into).Elem()
	s := shapeOf(v.Type())
	seen := map[int]bool{}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, value = unescape(name), unescape(value)
		i, known := s.index[name]
		if !known {
			continue
		}
		if seen[i] {
			return &Error{Detail: "duplicate field `" + s.fields[i].name + "`"}
		}
		seen[i] = true
		if detail := parse(v.Field(s.fields[i].at), value); detail != "" {
			return &Error{Path: name, Detail: detail}
		}
	}
	return nil
}

// unescape decodes what is well formed and keeps the rest.
func unescape(s string) string {
	s = strings.ReplaceAll(s, "+", " ")
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+3 <= len(s) {
			if plain, err := url.PathUnescape(s[i : i+3]); err == nil {
				out = append(out, plain...)
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return strings.ToValidUTF8(string(out), "\ufffd")
}

// parse sets v from text, or says why not.
func parse(v reflect.Value, text string) string {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Bool:
		if text != "true" && text != "false" {
			return "provided string was not `true` or `false`"
		}
		v.SetBool(text == "true")
	case reflect.String:
		v.SetString(text)
	default:
		return parseUint(v, text)
	}
	return ""
}

func parseUint(v reflect.Value, text string) string {
	if text == "" {
		return "cannot parse integer from empty string"
	}
	digits := strings.TrimPrefix(text, "+")
	for i := range len(digits) {
		if !digit(digits[i]) {
			return "invalid digit found in string"
		}
	}
	n, err := strconv.ParseUint(digits, 10, v.Type().Bits())
	switch {
	case digits == "":
		return "invalid digit found in string"
	case err != nil:
		return "number too large to fit in target type"
	}
	v.SetUint(n)
	return ""
}
