package ingress

// stepField processes a byte of a header line, or of the empty line that ends the head. A line may end in LF alone, which all
// servers accept as an end. A CR anywhere else is refused.
func (c *Checker) stepField(b byte) bool {
	switch c.state {
	case lineStart:
		switch {
		case b == '\n':
			return c.endHead()
		case b == '\r':
			c.state = headEnd
			return true
		case !isToken(b):
			return false // The line is folded, or has no name.
		}
		c.state, c.nameLen, c.valueLen, c.field = inName, 0, 0, 0
		return c.addNameByte(b)
	case headEnd:
		return b == '\n' && c.endHead()
	case inName:
		if b == ':' {
			c.field, c.state = fieldOf(c.name[:min(c.nameLen, nameMax)], c.nameLen), beforeValue
			return true
		}
		return isToken(b) && c.addNameByte(b)
	case beforeValue:
		if isBlank(b) {
			return true
		}
		c.state, c.blank = inValue, false
		return c.stepValue(b)
	case inValue:
		return c.stepValue(b)
	default: // valueEnd
		return b == '\n' && c.endField()
	}
}

// addNameByte stores a byte of a field name in lower case. It returns true.
func (c *Checker) addNameByte(b byte) bool {
	if c.nameLen < nameMax {
		c.name[c.nameLen] = lower(b)
	}
	c.nameLen++
	return true
}

// stepValue processes a byte of a value. It stores only the values that are checked. In these it refuses a blank inside and
// more than valueMax bytes, because no accepted value has them.
func (c *Checker) stepValue(b byte) bool {
	switch {
	case b == '\n':
		return c.endField()
	case b == '\r':
		c.state = valueEnd
		return true
	case c.field == 0:
		return true
	case c.field == host:
		c.valueLen = 1 // A Host must only not be empty.
		return true
	case isBlank(b):
		c.blank = true
		return true
	case c.blank || c.valueLen == valueMax:
		return false
	}
	c.value[c.valueLen] = lower(b)
	c.valueLen++
	return true
}

// endField checks a complete header line.
func (c *Checker) endField() bool {
	c.state = lineStart
	value := c.value[:c.valueLen]
	switch c.field {
	case contentLength:
		if c.seen&(contentLength|transferEncoding) != 0 || !c.readLength(value) {
			return false
		}
	case transferEncoding:
		if c.seen&(contentLength|transferEncoding) != 0 || !c.chunkable || string(value) != "chunked" {
			return false
		}
	case expect:
		if string(value) != "100-continue" {
			return false
		}
	case host:
		if c.valueLen == 0 {
			return false
		}
	}
	c.seen |= c.field
	return true
}

// readLength parses a length of plain digits into c.length and reports whether it is valid.
func (c *Checker) readLength(digits []byte) bool {
	if len(digits) == 0 || len(digits) > lengthDigits {
		return false
	}
	for _, d := range digits {
		if d < '0' || d > '9' {
			return false
		}
		c.length = c.length*10 + int64(d-'0')
	}
	return true
}

// endHead changes the state after the head: to a body of chunks, to a body with a length, or to the next request.
func (c *Checker) endHead() bool {
	switch {
	case c.seen&transferEncoding != 0:
		c.state, c.digits, c.extension, c.length = sizeStart, 0, 0, 0
	case c.length > 0:
		c.state = fixedBody
	default:
		c.state = beforeRequest
	}
	return true
}

// fieldOf returns the field of a name in lower case, or 0 for fields that are not checked. length is the full length of the
// name, of which name may be only the beginning.
func fieldOf(name []byte, length int) field {
	if length > nameMax {
		return 0
	}
	switch string(name) {
	case "content-length":
		return contentLength
	case "transfer-encoding":
		return transferEncoding
	case "expect":
		return expect
	case "host":
		return host
	}
	return 0
}

// isToken reports whether b is a tchar of RFC 9110, section 5.6.2.
func isToken(b byte) bool {
	switch {
	case b >= '0' && b <= '9', b|0x20 >= 'a' && b|0x20 <= 'z':
		return true
	}
	switch b {
	case '!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~':
		return true
	}
	return false
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b | 0x20
	}
	return b
}
