package bidid

import "crypto/aes"

// Signer creates the tokens of one request after another without allocating. It holds the state of the cipher, which
// would otherwise escape to the heap for every token, so the caller reuses it. It is not safe for concurrent use.
type Signer struct {
	ring    *Keyring
	key     *macKey
	prefix  [aes.BlockSize]byte // The MAC state after the block that all tokens of a request share.
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

// Begin starts the tokens of one request. It reads marketplace, node, epoch and issue time from p, and sets the key id
// in p.
func (s *Signer) Begin(p *Payload) {
	p.KeyID = s.ring.current
	putShared(&s.payload, p)
	s.prefix = [aes.BlockSize]byte{}
	s.key.absorb(&s.prefix, s.payload[:aes.BlockSize])
}

// Mint writes the token of one winner to dst. It reads from p what Begin did not read. REQUIRES: Begin was called, and
// p contains only values that Open accepts.
func (s *Signer) Mint(dst *[TextLen]byte, p *Payload) {
	putOwn(&s.payload, p)
	s.state = s.prefix
	s.key.absorb(&s.state, s.payload[aes.BlockSize:2*aes.BlockSize])
	s.key.finish(&s.state, s.payload[2*aes.BlockSize:])
	copy(s.token[:payloadLen], s.payload[:])
	copy(s.token[payloadLen:], s.state[:tagLen])
	encode(dst, &s.token)
}
