package bidid

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

// macKey is an AES-128-CMAC key (RFC 4493). All payloads consist of whole blocks, so only the first of the two subkeys
// is needed. The MAC is deterministic, so there is no nonce that a restart could repeat.
type macKey struct {
	block  cipher.Block
	subkey [aes.BlockSize]byte
}

func newMACKey(key [16]byte) macKey {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // Cannot happen: 16 bytes are a valid AES-128 key.
	}
	k := macKey{block: block}
	block.Encrypt(k.subkey[:], k.subkey[:])
	carry := k.subkey[0] >> 7
	for i := range k.subkey {
		next := byte(0)
		if i+1 < len(k.subkey) {
			next = k.subkey[i+1] >> 7
		}
		k.subkey[i] = k.subkey[i]<<1 | next
	}
	k.subkey[aes.BlockSize-1] ^= carry * 0x87 // The reduction constant of RFC 4493, section 2.3.
	return k
}

// absorb adds a block that is not the last one to the state.
// REQUIRES: state is on the heap already, because it escapes through the cipher's interface.
func (k *macKey) absorb(state *[aes.BlockSize]byte, block []byte) {
	xor(state, block)
	k.block.Encrypt(state[:], state[:])
}

// finish adds the last block to the state, which is the MAC afterwards.
func (k *macKey) finish(state *[aes.BlockSize]byte, block []byte) {
	xor(state, k.subkey[:])
	k.absorb(state, block)
}

// xor adds a block to the state. It is small enough to be inlined, unlike a call of subtle.XORBytes.
func xor(state *[aes.BlockSize]byte, block []byte) {
	a := binary.LittleEndian.Uint64(state[:8]) ^ binary.LittleEndian.Uint64(block)
	b := binary.LittleEndian.Uint64(state[8:]) ^ binary.LittleEndian.Uint64(block[8:])
	binary.LittleEndian.PutUint64(state[:8], a)
	binary.LittleEndian.PutUint64(state[8:], b)
}
