package bidid

import (
	"crypto/aes"
	"crypto/subtle"
	"sync"
)

// Key is one token key.
type Key struct {
	ID  uint8
	Key [16]byte
}

// Keyring holds the token keys of a cluster. The last key signs and all keys verify. Keys are rotated by appending a
// new key and dropping the first one when its tokens are too old to be counted. A Keyring is immutable and safe for
// concurrent use.
type Keyring struct {
	byID    [256]*macKey
	current uint8
	scratch sync.Pool
}

// opening is the working memory of one Open. It is pooled, because it escapes to the heap through the cipher's
// interface.
type opening struct {
	token [tokenLen]byte
	state [aes.BlockSize]byte
}

// NewKeyring returns a keyring of the given keys, oldest first. REQUIRES: there is at least one key, and ids are
// distinct.
func NewKeyring(keys []Key) *Keyring {
	k := &Keyring{current: keys[len(keys)-1].ID}
	for _, key := range keys {
		k.byID[key.ID] = new(newMACKey(key.Key))
	}
	k.scratch.New = func() any { return new(opening) }
	return k
}

// Open returns the payload of a token that is authentic and was issued in the marketplace. It returns false for a wrong
// length, a character outside the alphabet, an unknown version or key, a wrong tag, set spare bits, and another
// marketplace. It does not check the age of the token; the caller does.
func (k *Keyring) Open(marketplace uint16, token []byte) (Payload, bool) {
	o := k.scratch.Get().(*opening)
	defer k.scratch.Put(o)

	if !decode(&o.token, token) || o.token[0] != version {
		return Payload{}, false
	}
	key := k.byID[o.token[1]]
	if key == nil {
		return Payload{}, false
	}
	payload := (*[payloadLen]byte)(o.token[:payloadLen])
	clear(o.state[:])
	key.absorb(&o.state, payload[:16])
	key.absorb(&o.state, payload[16:32])
	key.finish(&o.state, payload[32:])
	if subtle.ConstantTimeCompare(o.state[:tagLen], o.token[payloadLen:]) != 1 {
		return Payload{}, false
	}
	p, ok := read(payload)
	return p, ok && p.Marketplace == marketplace
}
