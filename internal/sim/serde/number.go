package serde

import (
	"fmt"
	"math"
	"strconv"
)

// number is what a JSON number is to the decoder: an unsigned integer, a negative one, or everything else.
type number struct {
	kind byte // 'u', 'i', 'f'
	u    uint64
	i    int64
	f    float64
}

func (n number) String() string {
	switch n.kind {
	case 'u':
		return fmt.Sprintf("integer `%d`", n.u)
	case 'i':
		return fmt.Sprintf("integer `%d`", n.i)
	}
	return "floating point `" + float(n.f) + "`"
}

// number reads one; its first byte, a digit or a minus sign, is known but not read.
func (r *reader) number() (number, *Error) {
	start := r.i
	negative := r.peek() == '-'
	if negative {
		r.i++
	}
	if err := r.integer(); err != nil {
		return number{}, err
	}
	whole := true
	for _, part := range []func() (bool, *Error){r.fraction, r.exponent} {
		some, err := part()
		if err != nil {
			return number{}, err
		}
		whole = whole && !some
	}
	text := string(r.b[start:r.i])
	if whole {
		if u, err := strconv.ParseUint(text, 10, 64); err == nil {
			return number{kind: 'u', u: u}, nil
		}
		if i, err := strconv.ParseInt(text, 10, 64); err == nil && i != 0 {
			return number{kind: 'i', i: i}, nil
		}
	}
	f, _ := strconv.ParseFloat(text, 64)
	if math.IsInf(f, 0) {
		return number{}, r.fail(outOfRange)
	}
	return number{kind: 'f', f: f}, nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func (r *reader) digits() (n int) {
	for ; digit(r.peek()); n++ {
		r.i++
	}
	return n
}

func (r *reader) integer() *Error {
	if r.i == len(r.b) {
		return r.fail(eofValue)
	}
	first := r.b[r.i]
	r.i++
	switch {
	case first == '0' && digit(r.peek()):
		return r.failNext(badNumber)
	case !digit(first):
		return r.fail(badNumber)
	case first != '0':
		r.digits()
	}
	return nil
}

func (r *reader) fraction() (bool, *Error) {
	if r.peek() != '.' {
		return false, nil
	}
	r.i++
	if r.digits() > 0 {
		return true, nil
	}
	if r.i == len(r.b) {
		return true, r.failNext(eofValue)
	}
	return true, r.failNext(badNumber)
}

func (r *reader) exponent() (bool, *Error) {
	if r.peek()|0x20 != 'e' {
		return false, nil
	}
	r.i++
	if c := r.peek(); c == '+' || c == '-' {
		r.i++
	}
	if r.i == len(r.b) {
		return true, r.fail(eofValue)
	}
	if !digit(r.peek()) {
		r.i++
		return true, r.fail(badNumber)
	}
	r.digits()
	return true, nil
}
