package apierr

// Append appends the error object of /v2 to dst: {"errCode","docUrl","message","error"}, always all four, never an array.
// publicURL is server.public_url without a final slash and needs no escaping. An empty message means the code's default message.
// It allocates only if the capacity of dst is too small.
func Append[Text ~string | ~[]byte](dst []byte, code Code, message Text, publicURL string) []byte {
	dst = append(dst, `{"errCode":"`...)
	dst = append(dst, code.String()...)
	dst = append(dst, `","docUrl":"`...)
	dst = append(dst, publicURL...)
	dst = append(dst, `/docs/errors#`...)
	dst = append(dst, code.String()...)
	dst = append(dst, `","message":"`...)
	if len(message) == 0 {
		dst = append(dst, code.Message()...)
	} else {
		dst = appendEscaped(dst, message)
	}
	dst = append(dst, `","error":"`...)
	dst = append(dst, code.Reason()...)
	return append(dst, `"}`...)
}

const hex = "0123456789abcdef"

// appendEscaped appends the text of a JSON string. REQUIRES: text is valid UTF-8.
func appendEscaped[Text ~string | ~[]byte](dst []byte, text Text) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
