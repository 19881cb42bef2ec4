package serde

// skip reads a value that nobody wants. It does not call itself, so that a body of nothing but brackets costs no stack.
func (r *reader) skip() *Error {
	var open []byte
	for {
		c, err := r.value()
		if err != nil {
			return err
		}
		comma := true // whether a comma may come
		switch {
		case c == '[' || c == '{':
			r.i++
			open = append(open, c)
			comma = false
		default:
			if err := r.scalar(c); err != nil {
				return err
			}
		}
		if open, err = r.unwind(open, comma); err != nil || len(open) == 0 {
			return err
		}
		if open[len(open)-1] == '{' {
			if err := r.skipKey(); err != nil {
				return err
			}
		}
	}
}

func (r *reader) scalar(c byte) *Error {
	var err *Error
	switch {
	case c == 'n':
		r.i++
		err = r.ident("ull")
	case c == 't':
		r.i++
		err = r.ident("rue")
	case c == 'f':
		r.i++
		err = r.ident("alse")
	case c == '-' || digit(c):
		_, err = r.number()
	case c == '"':
		r.i++
		_, err = r.str()
	default:
		err = r.failNext(wantValue)
	}
	return err
}

// unwind closes what ends here, up to where a further value is due, and returns what is still open.
func (r *reader) unwind(open []byte, comma bool) ([]byte, *Error) {
	for ; len(open) > 0; comma = true {
		frame := open[len(open)-1]
		c, ok := r.next()
		switch {
		case !ok && frame == '[':
			return nil, r.failNext(eofList)
		case !ok:
			return nil, r.failNext(eofObject)
		case c == ',' && comma:
			r.i++
			return open, nil
		case c == frame+2: // ']' and '}' are two after their opening
			r.i++
			open = open[:len(open)-1]
		case !comma:
			return open, nil
		case frame == '[':
			return nil, r.failNext(wantListEnd)
		default:
			return nil, r.failNext(wantMapEnd)
		}
	}
	return nil, nil
}

func (r *reader) skipKey() *Error {
	c, ok := r.next()
	switch {
	case !ok:
		return r.failNext(eofObject)
	case c != '"':
		return r.failNext(keyNotString)
	}
	r.i++
	if _, err := r.str(); err != nil {
		return err
	}
	return r.colon()
}

// colon reads the colon after a key.
func (r *reader) colon() *Error {
	c, ok := r.next()
	switch {
	case !ok:
		return r.failNext(eofObject)
	case c != ':':
		return r.failNext(wantColon)
	}
	r.i++
	return nil
}
