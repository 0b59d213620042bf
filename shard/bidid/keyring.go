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

// Keyring holds the token keys of a cluster. The last one signs, all verify, so keys are rotated by appending one and
// dropping the first when its tokens are too old to count. It is immutable and safe for concurrent use.
type Keyring struct {
	byID    [256]*macKey
	current uint8
	scratch sync.Pool
}

// opening is the memory of one Open; it would escape through the cipher's interface otherwise.
type opening struct {
	token [tokenLen]byte
	state [aes.BlockSize]byte
}

// NewKeyring returns a keyring. REQUIRES: at least one key, ids distinct.
func NewKeyring(keys []Key) *Keyring {
	k := &Keyring{current: keys[len(keys)-1].ID}
	for _, key := range keys {
		k.byID[key.ID] = new(newMACKey(key.Key))
	}
	k.scratch.New = func() any { return new(opening) }
	return k
}

// Open returns what a token says, if it is authentic and was issued in the marketplace. It answers false for anything
// else: a wrong length, a character outside the alphabet, an unknown version or key, a wrong tag, another marketplace.
// Times are the caller's to judge.
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
