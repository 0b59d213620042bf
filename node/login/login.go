// Package login has what a sign-in needs and nothing that is stored or served: the hash of passwords, one-time codes of apps and
// recovery codes, the secrets of cookies and links, and the lock-out of those who guess.
//
// Everything is safe for concurrent use.
package login

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// secretLen is the length of a secret in bytes.
const secretLen = 32

// NewSecret returns the text of a new secret of 256 random bits, for a cookie.
func NewSecret() string {
	var secret [secretLen]byte
	_, _ = rand.Read(secret[:]) // crypto/rand never returns an error.
	return base64.RawURLEncoding.EncodeToString(secret[:])
}

// KeyOf returns the hash under which the owner of a secret is stored. It reports false for a text that NewSecret cannot have made. A
// fast hash is right for 256 random bits.
func KeyOf(secret string) (key [sha256.Size]byte, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(secret)
	return sha256.Sum256(raw), err == nil && len(raw) == secretLen
}
