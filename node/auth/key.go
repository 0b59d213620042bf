package auth

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Lengths of the parts of a key. All characters are ASCII, so these are bytes as well.
const (
	idLen     = 8
	secretLen = 32 // 32 base62 characters carry 190 bits.
	crcLen    = 6
	prefixLen = len("gavel_auc_")
	// KeyLen is the length of every key.
	KeyLen = prefixLen + idLen + 1 + secretLen + crcLen
)

// ID is the public part of a key: it finds the record and may be shown and logged.
type ID [idLen]byte

// String returns the id as text.
func (id ID) String() string { return string(id[:]) }

// Key is a whole key with its secret. OWNERSHIP: show it once, then drop it; only its Record is stored.
type Key struct {
	Kind   Kind
	ID     ID
	secret [secretLen]byte
}

// ErrKind is returned by Generate for an unknown kind.
var ErrKind = errors.New("no such kind of key")

// Generate makes a key of a kind from entropy, which has to be unpredictable (crypto/rand outside of tests). It returns ErrKind, or
// an error of entropy.
func Generate(kind Kind, entropy io.Reader) (Key, error) {
	if kind.String() == "" {
		return Key{}, ErrKind
	}
	k := Key{Kind: kind}
	if err := fill(k.ID[:], entropy); err != nil {
		return Key{}, err
	}
	if err := fill(k.secret[:], entropy); err != nil {
		return Key{}, err
	}
	return k, nil
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// fill draws characters by rejection: 248 = 4 x 62 is the largest multiple that fits a byte, so every character is
// equally likely.
func fill(dst []byte, entropy io.Reader) error {
	for i := 0; i < len(dst); {
		var raw [32]byte
		if _, err := io.ReadFull(entropy, raw[:]); err != nil {
			return fmt.Errorf("entropy of a key: %w", err)
		}
		for _, b := range raw {
			if b < 248 && i < len(dst) {
				dst[i] = alphabet[b%62]
				i++
			}
		}
	}
	return nil
}

// AppendText appends the key as its owner presents it.
func (k Key) AppendText(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, k.Kind.prefix()...)
	dst = append(dst, k.ID[:]...)
	dst = append(dst, '_')
	dst = append(dst, k.secret[:]...)
	crc := checksum(dst[start:])
	return append(dst, crc[:]...)
}

// String returns the key as its owner presents it.
func (k Key) String() string { return string(k.AppendText(make([]byte, 0, KeyLen))) }

// Parse reads a key. It reports false for any text that Generate cannot have made. It looks nothing up and allocates nothing.
func Parse(text []byte) (Key, bool) {
	if len(text) != KeyLen {
		return Key{}, false
	}
	k := Key{}
	switch string(text[:prefixLen]) {
	case "gavel_auc_":
		k.Kind = Auction
	case "gavel_mgt_":
		k.Kind = Management
	default:
		return Key{}, false
	}
	if text[prefixLen+idLen] != '_' || !base62(text[prefixLen:prefixLen+idLen]) || !base62(text[prefixLen+idLen+1:]) {
		return Key{}, false
	}
	if crc := checksum(text[:KeyLen-crcLen]); string(crc[:]) != string(text[KeyLen-crcLen:]) {
		return Key{}, false
	}
	copy(k.ID[:], text[prefixLen:])
	copy(k.secret[:], text[prefixLen+idLen+1:])
	return k, true
}

func base62(text []byte) bool {
	for _, c := range text {
		if !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z') {
			return false
		}
	}
	return true
}

// checksum is CRC32 (IEEE) in base62, most significant digit first; 62^6 is larger than 2^32.
func checksum(text []byte) (digits [crcLen]byte) {
	sum := crc32.ChecksumIEEE(text)
	for i := crcLen - 1; i >= 0; i-- {
		digits[i] = alphabet[sum%62]
		sum /= 62
	}
	return digits
}

func (k *Key) hash() [sha256.Size]byte { return sha256.Sum256(k.secret[:]) }
