package manage

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/ids"
)

// derive makes a key from a secret for one purpose and the parts that it belongs to. No two lists of parts give the same key.
func derive(secret [32]byte, purpose string, parts ...string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, secret[:])
	for _, part := range append([]string{purpose}, parts...) {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write([]byte(part))
	}
	return [sha256.Size]byte(mac.Sum(nil))
}

// sealed encrypts a text that is stored under an id. It cannot be read, nor moved to another id, without the key.
func sealed(key [32]byte, id ids.UUID, plain []byte) []byte {
	return gcmOf(key).Seal(nil, nil, plain, id[:]) //nolint:gosec // The AEAD makes the nonce itself, so none is passed.
}

// unsealed decrypts a text. It reports false when the text was sealed with another key or for another id.
func unsealed(key [32]byte, id ids.UUID, text []byte) ([]byte, bool) {
	plain, err := gcmOf(key).Open(nil, nil, text, id[:])
	return plain, err == nil
}

// gcmOf is AES-256-GCM with a random nonce in front of the text.
func gcmOf(key [32]byte) cipher.AEAD {
	block, err := aes.NewCipher(key[:])
	if err == nil {
		var gcm cipher.AEAD
		if gcm, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return gcm
		}
	}
	panic("manage: AES refused a key of 32 bytes: " + err.Error())
}
