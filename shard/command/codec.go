package command

import (
	"encoding/binary"
	"math"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// Decoder reads the fields of a command or of a stored record from front to back. It never panics, and never allocates
// more memory than the length of the input. After the first error every read returns the zero value, and Err reports
// the error. The counterpart is encoding/binary (little-endian) and the Append functions below.
type Decoder struct {
	rest    []byte
	bad     bool
	ofLevel bool  // The input is a command, which states its level.
	level   Level // The level that the command states.
	needs   Level // The highest level of the members read so far.
}

// NewDecoder returns a Decoder for b. OWNERSHIP: the results of Bytes and Rest alias b.
func NewDecoder(b []byte) Decoder { return Decoder{rest: b} }

// Err returns ErrUnreadable when a field was missing, malformed or out of range, when bytes are left over, or when a
// command states another level than its members need. Otherwise it returns nil.
func (d *Decoder) Err() error {
	if d.bad || len(d.rest) != 0 || d.ofLevel && d.level != d.needs {
		return ErrUnreadable
	}
	return nil
}

// Fail marks the input as unreadable.
func (d *Decoder) Fail() { d.bad, d.rest = true, nil }

func (d *Decoder) next(n int) []byte {
	if n > len(d.rest) {
		d.Fail()
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

// U8 reads one byte.
func (d *Decoder) U8() uint8 {
	if b := d.next(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two bytes.
func (d *Decoder) U16() uint16 {
	if b := d.next(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads four bytes.
func (d *Decoder) U32() uint32 {
	if b := d.next(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads eight bytes.
func (d *Decoder) U64() uint64 {
	if b := d.next(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// I64 reads eight bytes as a signed number.
func (d *Decoder) I64() int64 { return int64(d.U64()) } // Two's complement both ways.

// Uvarint reads a variable-length number.
func (d *Decoder) Uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.Fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// Varint reads a signed variable-length number.
func (d *Decoder) Varint() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.Fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// Bool reads a byte that must be 0 or 1.
func (d *Decoder) Bool() bool {
	b := d.U8()
	if b > 1 {
		d.Fail()
	}
	return b == 1
}

// Enum reads a byte that must be below limit.
func (d *Decoder) Enum(limit uint8) uint8 {
	b := d.U8()
	if b >= limit {
		d.Fail()
		return 0
	}
	return b
}

// Money reads an amount, which must lie in ±money.MaxMicros.
func (d *Decoder) Money() money.Micros {
	m := money.Micros(d.I64())
	if m > money.MaxMicros || m < -money.MaxMicros {
		d.Fail()
		return 0
	}
	return m
}

// Price reads an amount from 0 to money.MaxMicros.
func (d *Decoder) Price() money.Micros {
	m := d.Money()
	if m < 0 {
		d.Fail()
		return 0
	}
	return m
}

// Sixteen reads a 16-byte value.
func (d *Decoder) Sixteen() (v [16]byte) {
	copy(v[:], d.next(16))
	return v
}

// UUID reads an id.
func (d *Decoder) UUID() ids.UUID { return d.Sixteen() }

// Key32 reads a 32-byte key.
func (d *Decoder) Key32() (v [32]byte) {
	copy(v[:], d.next(32))
	return v
}

// Bytes reads a length and that many bytes. OWNERSHIP: the result aliases the input; nil when empty.
func (d *Decoder) Bytes() []byte {
	n := d.Uvarint()
	if n > uint64(len(d.rest)) {
		d.Fail()
		return nil
	}
	if n == 0 {
		return nil
	}
	return d.next(int(n)) // At most len(rest).
}

// More reports whether something is left to be read.
func (d *Decoder) More() bool { return len(d.rest) > 0 }

// Rest reads all remaining bytes. OWNERSHIP: the result aliases the input; it is not nil, even when empty.
func (d *Decoder) Rest() []byte {
	b := d.rest
	d.rest = nil
	if b == nil {
		return []byte{}
	}
	return b
}

// Copy reads like Bytes and returns a copy.
func (d *Decoder) Copy() []byte {
	b := d.Bytes()
	if b == nil {
		return nil
	}
	return append([]byte(nil), b...)
}

// Text reads a string.
func (d *Decoder) Text() string { return string(d.Bytes()) }

// Count reads how many elements follow. It fails when the rest of the input is too short for so many elements of at
// least size bytes, so that an input cannot cause a larger allocation than its own length.
func (d *Decoder) Count(size int) int {
	n := d.Uvarint()
	if n > uint64(len(d.rest)/size) {
		d.Fail()
		return 0
	}
	return int(n) // At most len(rest).
}

// Texts reads a list of strings; nil when empty.
func (d *Decoder) Texts() []string {
	n := d.Count(1)
	if n == 0 {
		return nil
	}
	all := make([]string, 0, n)
	for range n {
		all = append(all, d.Text())
	}
	return all
}

// AppendBytes appends b so that Decoder.Bytes reads it.
func AppendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// AppendText appends s so that Decoder.Text reads it.
func AppendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// AppendBool appends b so that Decoder.Bool reads it.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendTexts(dst []byte, all []string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(all)))
	for _, s := range all {
		dst = AppendText(dst, s)
	}
	return dst
}

func appendI32(dst []byte, v int32) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(v)) // Two's complement both ways.
}

func appendI64(dst []byte, v int64) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(v)) // Two's complement both ways.
}

// AppendMoney appends m so that Decoder.Money reads it.
func AppendMoney(dst []byte, m money.Micros) []byte { return appendI64(dst, int64(m)) }

// AppendMillis appends a time in Unix milliseconds so that Decoder.I64 reads it.
func AppendMillis(dst []byte, millis int64) []byte { return appendI64(dst, millis) }

func clampU32(n int) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }
