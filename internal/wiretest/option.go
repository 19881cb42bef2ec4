package wiretest

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// SetOption sets the field of the struct that options points to, named by a path with dots, to what text says: a bool, a number, a
// duration or a string. A nil pointer on the path gets a zero value first; a list is its elements with commas between them.
func SetOption(options any, path, text string) error {
	v := reflect.ValueOf(options).Elem()
	for name := range strings.SplitSeq(path, ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || !v.FieldByName(name).CanSet() {
			return fmt.Errorf("there is no option %s", path)
		}
		v = v.FieldByName(name)
	}
	if err := set(v, text); err != nil {
		return fmt.Errorf("option %s: %w", path, err)
	}
	return nil
}

func set(v reflect.Value, text string) error {
	var err error
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		var d time.Duration
		d, err = time.ParseDuration(text)
		v.SetInt(int64(d))
	case v.Kind() == reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		v.SetBool(b)
	case v.CanInt():
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Slice:
		for part := range strings.SplitSeq(text, ",") {
			e := reflect.New(v.Type().Elem()).Elem()
			if err := set(e, part); err != nil {
				return err
			}
			v.Set(reflect.Append(v, e))
		}
	case v.Kind() == reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		err = set(p.Elem(), text)
		v.Set(p)
	default:
		err = fmt.Errorf("cannot set a %s", v.Type())
	}
	return err
}
