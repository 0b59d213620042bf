package bidid

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

// macKey is an AES-128-CMAC key (RFC 4493) for messages of whole blocks, as all payloads are: only the first of the two
// subkeys is needed. The MAC is deterministic, so there is no nonce that a restart could repeat.
type macKey struct {
	block  cipher.Block
	subkey [aes.BlockSize]byte
}

func newMACKey(key [16]byte) macKey {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // 16 bytes are a key of AES-128.
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
	k.subkey[aes.BlockSize-1] ^= carry * 0x87 // The reduction of the field, section 2.3.
	return k
}

// absorb takes one block that is not the last into the state.
// OWNERSHIP: state must be on the heap already, because it escapes through the cipher's interface.
func (k *macKey) absorb(state *[aes.BlockSize]byte, block []byte) {
	xor(state, block)
	k.block.Encrypt(state[:], state[:])
}

// finish takes the last block into the state, which then is the MAC.
func (k *macKey) finish(state *[aes.BlockSize]byte, block []byte) {
	xor(state, k.subkey[:])
	k.absorb(state, block)
}

// xor is small enough to be inlined, which a call of subtle.XORBytes for one block is not.
func xor(state *[aes.BlockSize]byte, block []byte) {
	a := binary.LittleEndian.Uint64(state[:8]) ^ binary.LittleEndian.Uint64(block)
	b := binary.LittleEndian.Uint64(state[8:]) ^ binary.LittleEndian.Uint64(block[8:])
	binary.LittleEndian.PutUint64(state[:8], a)
	binary.LittleEndian.PutUint64(state[8:], b)
}
