package serde

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// Options says how to decode.
type Options struct {
	// DenyUnknown refuses names that the outermost struct does not have; those of other structs are up to their tags.
	DenyUnknown bool
}

// Enum is a string of which only some values are accepted.
type Enum interface {
	// Variants are the values, in the order in which the error names them.
	Variants() []string
}

// Untagged is a value, held by pointer, that may have several shapes.
type Untagged interface {
	// Match sets the value from well-formed JSON and reports whether that has one of the shapes.
	Match(json []byte) bool
}

// Decode sets *into, a pointer to a struct, from a JSON body. The error is an [*Error]; *into is then partly set.
func Decode(data []byte, into any, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	r := &reader{b: data, depth: maxDepth}
	if err := r.object(reflect.ValueOf(into).Elem(), "", o.DenyUnknown); err != nil {
		return err
	}
	if _, more := r.next(); more {
		return r.failNext(trailing)
	}
	return nil
}

// within puts err at path, unless it has been placed more exactly.
func within(err *Error, path string) *Error {
	if err != nil && err.Path == "" {
		err.Path = path
	}
	return err
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// decode reads a value into v. The caller places the error.
func (r *reader) decode(v reflect.Value, path string) *Error {
	if v.CanAddr() {
		if u, ok := v.Addr().Interface().(Untagged); ok {
			return r.untagged(v, u)
		}
	}
	if e, ok := v.Interface().(Enum); ok && v.Kind() == reflect.String {
		return r.enum(v, e)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return r.option(v, path)
	case reflect.Struct:
		return r.object(v, path, false)
	case reflect.Slice:
		return r.list(v, path)
	case reflect.Map:
		return r.dict(v, path)
	case reflect.String:
		return r.text(v)
	case reflect.Bool:
		return r.boolean(v)
	default:
		return r.unsigned(v)
	}
}

func (r *reader) option(v reflect.Value, path string) *Error {
	if c, _ := r.next(); c == 'n' {
		r.i++
		v.SetZero()
		return r.ident("ull")
	}
	v.Set(reflect.New(v.Type().Elem()))
	return r.decode(v.Elem(), path)
}

func (r *reader) text(v reflect.Value) *Error {
	c, err := r.value()
	if err != nil {
		return err
	}
	if c != '"' {
		return r.mismatch(c, "a string")
	}
	r.i++
	s, err := r.str()
	v.SetString(s)
	return err
}

func (r *reader) boolean(v reflect.Value) *Error {
	c, err := r.value()
	if err != nil {
		return err
	}
	if c != 't' && c != 'f' {
		return r.mismatch(c, "a boolean")
	}
	v.SetBool(c == 't')
	return r.scalar(c)
}

// typeName is the name of an integer as the errors give it: u8, u32, and usize for uint.
func typeName(v reflect.Value) string {
	if v.Kind() == reflect.Uint {
		return "usize"
	}
	return "u" + strconv.Itoa(v.Type().Bits())
}

func (r *reader) unsigned(v reflect.Value) *Error {
	c, err := r.value()
	if err != nil {
		return err
	}
	if c != '-' && !digit(c) {
		return r.mismatch(c, typeName(v))
	}
	n, err := r.number()
	switch {
	case err != nil:
		return err
	case n.kind == 'f':
		return r.wrong("invalid type: " + n.String() + ", expected " + typeName(v))
	case n.kind == 'i' || v.OverflowUint(n.u):
		return r.wrong("invalid value: " + n.String() + ", expected " + typeName(v))
	}
	v.SetUint(n.u)
	return nil
}

// enum accepts only a string; any other value is taken for broken JSON, as the original does.
func (r *reader) enum(v reflect.Value, e Enum) *Error {
	c, err := r.value()
	if err != nil {
		return err
	}
	if c != '"' {
		return r.failNext(wantValue)
	}
	r.i++
	s, err := r.str()
	if err != nil {
		return err
	}
	for _, known := range e.Variants() {
		if s == known {
			v.SetString(s)
			return nil
		}
	}
	return r.wrong("unknown variant `" + s + "`, " + oneOf(e.Variants()))
}

func (r *reader) untagged(v reflect.Value, u Untagged) *Error {
	if _, err := r.value(); err != nil {
		return err
	}
	start := r.i
	if err := r.skip(); err != nil {
		return err
	}
	if !u.Match(r.b[start:r.i]) {
		return r.wrong("data did not match any variant of untagged enum " + shapeName(v.Type()))
	}
	return nil
}

// mismatch is the error for a value, beginning with c, where want was expected. It reads the value if that is a scalar.
func (r *reader) mismatch(c byte, want string) *Error {
	var got string
	var err *Error
	switch {
	case c == '[':
		got = "sequence"
	case c == '{':
		got = "map"
	case c == 'n':
		got, err = "null", r.scalar(c)
	case c == 't' || c == 'f':
		got, err = "boolean `"+strconv.FormatBool(c == 't')+"`", r.scalar(c)
	case c == '"':
		var s string
		r.i++
		s, err = r.str()
		got = "string " + Quote(s)
	case c == '-' || digit(c):
		var n number
		n, err = r.number()
		got = n.String()
	default:
		return r.failNext(wantValue)
	}
	if err != nil {
		return err
	}
	return r.wrong("invalid type: " + got + ", expected " + want)
}

// enter and leave count the depth.
func (r *reader) enter() *Error {
	if r.depth--; r.depth == 0 {
		return r.failNext(tooDeep)
	}
	r.i++
	return nil
}

func (r *reader) list(v reflect.Value, path string) *Error {
	c, err := r.value()
	if err != nil {
		return err
	}
	if c != '[' {
		return r.mismatch(c, "a sequence")
	}
	if err := r.enter(); err != nil {
		return err
	}
	defer func() { r.depth++ }()
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for {
		more, err := r.element(v.Len() == 0)
		if err != nil || !more {
			return err
		}
		at := fmt.Sprintf("%s[%d]", path, v.Len())
		item := reflect.New(v.Type().Elem()).Elem()
		if err := r.decode(item, at); err != nil {
			return within(err, at)
		}
		v.Set(reflect.Append(v, item))
	}
}

// element reads up to the next element of a list, or its end.
func (r *reader) element(first bool) (bool, *Error) {
	c, ok := r.next()
	switch {
	case !ok:
		return false, r.failNext(eofList)
	case c == ']':
		r.i++
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, r.failNext(wantListEnd)
	}
	r.i++
	c, err := r.value()
	if c == ']' {
		return false, r.failNext(trailComma)
	}
	return true, err
}

// key reads the next key of an object; more is false at its end, which is read.
func (r *reader) key(first bool) (name string, more bool, err *Error) {
	c, ok := r.next()
	switch {
	case !ok:
		return "", false, r.failNext(eofObject)
	case c == '}':
		r.i++
		return "", false, nil
	case first:
	case c != ',':
		return "", false, r.failNext(wantMapEnd)
	default:
		r.i++
		if c, err = r.value(); err != nil {
			return "", false, err
		}
		if c == '}' {
			return "", false, r.failNext(trailComma)
		}
	}
	if c != '"' {
		return "", false, r.failNext(keyNotString)
	}
	r.i++
	name, err = r.str()
	return name, err == nil, err
}

// keyed places an error that came before a key was known.
func keyed(err *Error, path string) *Error {
	if path != "" {
		return within(err, path+".?")
	}
	return err
}

func (r *reader) dict(v reflect.Value, path string) *Error {
	c, err := r.value()
	if err != nil {
		return err
	}
	if c != '{' {
		return r.mismatch(c, "a map")
	}
	if err := r.enter(); err != nil {
		return err
	}
	defer func() { r.depth++ }()
	v.Set(reflect.MakeMap(v.Type()))
	for first := true; ; first = false {
		name, more, err := r.key(first)
		if err != nil || !more {
			return keyed(err, path)
		}
		item := reflect.New(v.Type().Elem()).Elem()
		if err := r.member(item, join(path, name)); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(name), item)
	}
}

// member reads a colon and a value.
func (r *reader) member(v reflect.Value, path string) *Error {
	err := r.colon()
	if err == nil {
		err = r.decode(v, path)
	}
	return within(err, path)
}

func (r *reader) object(v reflect.Value, path string, deny bool) *Error {
	c, err := r.value()
	if err != nil {
		return within(err, path)
	}
	s := shapeOf(v.Type())
	if c != '{' {
		return within(r.mismatch(c, "struct "+s.name), path)
	}
	if err := r.enter(); err != nil {
		return within(err, path)
	}
	defer func() { r.depth++ }()
	seen := map[int]bool{}
	for first := true; ; first = false {
		name, more, err := r.key(first)
		if err != nil {
			return keyed(err, path)
		}
		if !more {
			return within(s.missing(seen, r), path)
		}
		if err := r.field(v, s, seen, name, path, deny || s.deny); err != nil {
			return err
		}
	}
}

// field reads the member of a struct whose key was read.
func (r *reader) field(v reflect.Value, s *shape, seen map[int]bool, name, path string, deny bool) *Error {
	i, known := s.index[name]
	switch {
	case known && seen[i]:
		r.next() // the position is told after white space
		return within(r.wrong("duplicate field `"+s.fields[i].name+"`"), path)
	case known:
		seen[i] = true
		return r.member(v.Field(s.fields[i].at), join(path, name))
	case deny:
		r.next()
		return within(r.wrong("unknown field `"+name+"`, "+oneOf(s.names())), join(path, name))
	}
	err := r.colon()
	if err == nil {
		err = r.skip()
	}
	return within(err, join(path, name))
}

// shape is what the tags of a struct say.
type shape struct {
	name   string
	deny   bool
	fields []fieldShape
	index  map[string]int
}

type fieldShape struct {
	name     string
	at       int
	required bool
}

func shapeOf(t reflect.Type) *shape {
	s := &shape{index: map[string]int{}}
	s.name = shapeName(t)
	for i := range t.NumField() {
		f := t.Field(i)
		name, opt, _ := strings.Cut(f.Tag.Get("serde"), ",")
		if name == "" {
			s.deny = s.deny || opt == "deny"
			continue
		}
		alias := strings.Split(name, "|")
		for _, n := range alias {
			s.index[n] = len(s.fields)
		}
		s.fields = append(s.fields, fieldShape{name: alias[0], at: i, required: opt != "default" && f.Type.Kind() != reflect.Pointer})
	}
	return s
}

// shapeName is the name of a type as the errors give it.
func shapeName(t reflect.Type) string {
	name := []rune(t.Name())
	if len(name) > 0 {
		name[0] = unicode.ToUpper(name[0])
	}
	return string(name)
}

func (s *shape) names() []string {
	var out []string
	for _, f := range s.fields {
		out = append(out, f.name)
	}
	return out
}

func (s *shape) missing(seen map[int]bool, r *reader) *Error {
	for i, f := range s.fields {
		if f.required && !seen[i] {
			return r.wrong("missing field `" + f.name + "`")
		}
	}
	return nil
}
