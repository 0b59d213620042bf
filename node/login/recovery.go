package login

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// RecoveryCodes is how many recovery codes a user gets at a time. Each replaces one code of the app, once.
const RecoveryCodes = 10

// The form of a recovery code: 80 random bits as four groups of four characters, with hyphens between them.
const (
	recoveryLen   = 10 // Bytes.
	recoveryGroup = 4  // Characters.
)

// NewRecoveryCodes returns codes to be shown once, and the hashes under which they are stored, in the same order.
func NewRecoveryCodes() (codes, hashes []string) {
	for range RecoveryCodes {
		var raw [recoveryLen]byte
		_, _ = rand.Read(raw[:]) // crypto/rand never returns an error.
		text := strings.ToLower(base32Text.EncodeToString(raw[:]))
		var groups []string
		for i := 0; i < len(text); i += recoveryGroup {
			groups = append(groups, text[i:i+recoveryGroup])
		}
		codes = append(codes, strings.Join(groups, "-"))
		hashes = append(hashes, hashOf(raw[:]))
	}
	return codes, hashes
}

// RecoveryHash returns the hash under which a recovery code is stored. It reports false for a text that is no recovery code. Case,
// hyphens and spaces do not matter, because people copy codes from paper.
func RecoveryHash(code string) (hash string, ok bool) {
	text := strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	raw, err := base32Text.DecodeString(text)
	if err != nil || len(raw) != recoveryLen || len(text) != base32Text.EncodedLen(recoveryLen) {
		return "", false
	}
	return hashOf(raw), true
}

// hashOf is a fast hash, which is right for 80 random bits: nobody can try them all.
func hashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
