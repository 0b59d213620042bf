package ingress

// stepChunk processes a byte of the lines around chunks: sizes in hexadecimal digits, extensions, which the node does not use,
// and line ends, which must be CR LF. After the last chunk an empty line must follow: one reader would treat a trailer as
// a header field, and another would ignore it.
func (c *Checker) stepChunk(b byte) bool {
	switch c.state {
	case sizeStart, inSize:
		if digit, ok := hexDigit(b); ok {
			c.length = c.length<<4 | digit
			c.digits++
			c.state = inSize
			return c.digits <= sizeDigits
		}
		if b == ';' && c.state == inSize {
			c.state = inExtension
			return true
		}
		return c.state == inSize && c.stepAfterSize(b)
	case afterSize:
		return c.stepAfterSize(b)
	case inExtension:
		if b == '\r' {
			c.state = sizeEnd
			return true
		}
		c.extension++
		return b != '\n' && c.extension <= extensionBytes
	case sizeEnd:
		if c.state = inChunk; c.length == 0 {
			c.state = lastCR
		}
		return b == '\n'
	case chunkCR:
		c.state = chunkLF
		return b == '\r'
	case chunkLF:
		c.state, c.digits, c.extension = sizeStart, 0, 0
		return b == '\n'
	case lastCR:
		c.state = lastLF
		return b == '\r'
	default: // lastLF
		c.state = beforeRequest
		return b == '\n'
	}
}

// stepAfterSize processes a byte after the digits of a size: blanks, then the line end. It refuses an extension after blanks,
// because net/http does.
func (c *Checker) stepAfterSize(b byte) bool {
	switch {
	case b == '\r':
		c.state = sizeEnd
	case isBlank(b):
		c.state = afterSize
		c.extension++
	default:
		return false
	}
	return c.extension <= extensionBytes
}

func hexDigit(b byte) (int64, bool) {
	switch {
	case b >= '0' && b <= '9':
		return int64(b - '0'), true
	case b|0x20 >= 'a' && b|0x20 <= 'f':
		return int64(b|0x20-'a') + 10, true
	}
	return 0, false
}
