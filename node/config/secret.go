package config

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Secret is a setting that is never printed: every verb of fmt, slog and encoding/json writes a mask instead. Reveal
// returns the text for authentication.
type Secret string

// mask replaces a secret that is set.
const mask = "********"

// Reveal returns the text.
func (s Secret) Reveal() string { return string(s) }

// String returns the mask, or nothing for a secret that is not set.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// Format writes String for every verb, so that %x and %#v do not write the text either.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText returns String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// userinfo matches the user name and password of a URL, and those before an address without a scheme. They are secret
// even in settings that are not, such as the URL of a connector or the address of a broker, in which they are a fault.
var userinfo = regexp.MustCompile(`(//)[^/\s"]*@|[^/\s"'\[,@]+:[^/\s"@]+@`)

// withoutUserinfo masks the user name and password of every URL in a text.
func withoutUserinfo(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return userinfo.ReplaceAllString(text, "${1}"+mask+"@")
}
