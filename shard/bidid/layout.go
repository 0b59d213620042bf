package bidid

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Payload version 1 has 48 bytes, little-endian, in three AES blocks:
//
//	 0 version u8 = 1     16 seq u48             32 bid u32
//	 1 key id u8          22 rank u8             36 variant u16
//	 2 marketplace u16    23 kind u8             38 spare u16 = 0
//	 4 node u16           24 shard u8            40 price u64
//	 6 epoch u32          25 placement u8
//	10 issued u48         26 weight u16
//	                      28 campaign u32
//
// The first block is the same for all winners of a request. kind has the charge type in bits 0-1, the format in bits
// 2-4, external in bit 5, and zeros in bits 6-7. In the token of an external winner, bytes 28 to 35 hold the product
// hash.
const (
	version      = 1
	payloadLen   = 48
	tagLen       = 12
	tokenLen     = payloadLen + tagLen
	kindExternal = 1 << 5
	kindFormats  = 7
)

// putShared fills the first block, which all tokens of a request share.
func putShared(b *[payloadLen]byte, p *Payload) {
	b[0] = version
	b[1] = p.KeyID
	binary.LittleEndian.PutUint16(b[2:], p.Marketplace)
	binary.LittleEndian.PutUint16(b[4:], p.Node)
	binary.LittleEndian.PutUint32(b[6:], p.Epoch)
	put48(b[10:], uint64(p.IssuedMillis)) // After 1970.
}

// putOwn fills the second and third block.
func putOwn(b *[payloadLen]byte, p *Payload) {
	put48(b[16:], p.Seq)
	b[22] = p.Rank
	b[23] = uint8(p.Charge) | uint8(p.Format)<<2
	b[24] = uint8(p.Shard)
	b[25] = p.PlacementIndex
	binary.LittleEndian.PutUint16(b[26:], p.Weight)
	if p.External {
		b[23] |= kindExternal
		binary.LittleEndian.PutUint64(b[28:], p.ProductHash)
	} else {
		binary.LittleEndian.PutUint32(b[28:], p.Campaign)
		binary.LittleEndian.PutUint32(b[32:], p.Bid)
	}
	binary.LittleEndian.PutUint16(b[36:], p.Variant)
	binary.LittleEndian.PutUint16(b[38:], 0)
	binary.LittleEndian.PutUint64(b[40:], uint64(p.Price)) // Prices are not negative.
}

// read decodes a payload and reports whether it is one that this version encodes.
func read(b *[payloadLen]byte) (Payload, bool) {
	p := Payload{
		KeyID:          b[1],
		Marketplace:    binary.LittleEndian.Uint16(b[2:]),
		Node:           binary.LittleEndian.Uint16(b[4:]),
		Epoch:          binary.LittleEndian.Uint32(b[6:]),
		IssuedMillis:   int64(get48(b[10:])), // 48 bits.
		Seq:            get48(b[16:]),
		Rank:           b[22],
		Charge:         model.ChargeType(b[23] & 3),
		Format:         Format(b[23] >> 2 & kindFormats),
		External:       b[23]&kindExternal != 0,
		Shard:          ids.Shard(b[24]),
		PlacementIndex: b[25],
		Weight:         binary.LittleEndian.Uint16(b[26:]),
		Variant:        binary.LittleEndian.Uint16(b[36:]),
		Price:          money.Micros(binary.LittleEndian.Uint64(b[40:])), // Checked below.
	}
	if p.External {
		p.ProductHash = binary.LittleEndian.Uint64(b[28:])
	} else {
		p.Campaign = binary.LittleEndian.Uint32(b[28:])
		p.Bid = binary.LittleEndian.Uint32(b[32:])
	}
	known := b[0] == version && b[23]>>6 == 0 && p.Format <= FlightFormat && p.Price >= 0 && p.Price <= money.MaxMicros
	return p, known && binary.LittleEndian.Uint16(b[38:]) == 0
}

func put48(b []byte, x uint64) {
	binary.LittleEndian.PutUint32(b, uint32(x)) // The low half.
	binary.LittleEndian.PutUint16(b[4:], uint16(x>>32))
}

func get48(b []byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint16(b[4:]))<<32
}
