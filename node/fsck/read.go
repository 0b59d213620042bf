package fsck

import (
	"encoding/binary"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// reader decodes a stored value from front to back. It never reads beyond the end: after the first error every read
// returns zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) i64() int64 { return int64(r.u64()) } // Two's complement both ways.

func (r *reader) id() (v [16]byte) {
	copy(v[:], r.take(16))
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// text reads a length and that many bytes.
func (r *reader) text() string { return string(r.take(r.uvarint())) }

// ended reports whether no read failed and no byte is left.
func (r *reader) ended() bool { return !r.bad && len(r.rest) == 0 }
