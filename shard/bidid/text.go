package bidid

// The text form of a token is base64url without padding. 60 bytes are exactly 80 characters, so every valid text is one
// token, and every token has one text.

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

const notInAlphabet = 0xff

// encode writes the text of a token: three bytes become four characters.
func encode(dst *[TextLen]byte, src *[tokenLen]byte) {
	for i, j := 0, 0; i < tokenLen; i, j = i+3, j+4 {
		x := uint(src[i])<<16 | uint(src[i+1])<<8 | uint(src[i+2])
		dst[j] = alphabet[x>>18&63]
		dst[j+1] = alphabet[x>>12&63]
		dst[j+2] = alphabet[x>>6&63]
		dst[j+3] = alphabet[x&63]
	}
}

// decode decodes a text. It returns false unless the text consists of exactly TextLen characters of the alphabet.
func decode(dst *[tokenLen]byte, src []byte) bool {
	if len(src) != TextLen {
		return false
	}
	bad := byte(0)
	for i, j := 0, 0; i < tokenLen; i, j = i+3, j+4 {
		a, b, c, d := sextet(src[j]), sextet(src[j+1]), sextet(src[j+2]), sextet(src[j+3])
		bad |= (a | b | c | d) & 0xc0
		x := uint(a)<<18 | uint(b)<<12 | uint(c)<<6 | uint(d)
		dst[i], dst[i+1], dst[i+2] = byte(x>>16), byte(x>>8), byte(x) // Bytes of x.
	}
	return bad == 0
}

// sextet returns the value of a character, or notInAlphabet.
func sextet(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c - 'A'
	case 'a' <= c && c <= 'z':
		return c - 'a' + 26
	case '0' <= c && c <= '9':
		return c - '0' + 52
	case c == '-':
		return 62
	case c == '_':
		return 63
	}
	return notInAlphabet
}
