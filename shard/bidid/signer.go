package bidid

import "crypto/aes"

// Signer mints the tokens of one request after another without allocating. Its memory lives in the caller's scratch, as
// the state of the cipher would escape to the heap otherwise. It is not safe for concurrent use.
type Signer struct {
	ring    *Keyring
	key     *macKey
	prefix  [aes.BlockSize]byte // MAC state after the block that all tokens of a request share.
	state   [aes.BlockSize]byte
	payload [payloadLen]byte
	token   [tokenLen]byte
}

// NewSigner returns a signer that uses the newest key of the keyring.
func NewSigner(k *Keyring) *Signer {
	s := new(Signer)
	s.Use(k)
	return s
}

// Use makes the signer use the newest key of the keyring from the next Begin on.
func (s *Signer) Use(k *Keyring) {
	s.ring = k
	s.key = k.byID[k.current]
}

// Begin starts the tokens of one request. Of p it takes marketplace, node, epoch and issue time, and it sets the key id.
func (s *Signer) Begin(p *Payload) {
	p.KeyID = s.ring.current
	putShared(&s.payload, p)
	s.prefix = [aes.BlockSize]byte{}
	s.key.absorb(&s.prefix, s.payload[:aes.BlockSize])
}

// Mint writes the token of one winner. Of p it takes what Begin did not. REQUIRES: Begin was called, and p says nothing
// that Open would refuse.
func (s *Signer) Mint(dst *[TextLen]byte, p *Payload) {
	putOwn(&s.payload, p)
	s.state = s.prefix
	s.key.absorb(&s.state, s.payload[aes.BlockSize:2*aes.BlockSize])
	s.key.finish(&s.state, s.payload[2*aes.BlockSize:])
	copy(s.token[:payloadLen], s.payload[:])
	copy(s.token[payloadLen:], s.state[:tagLen])
	encode(dst, &s.token)
}
