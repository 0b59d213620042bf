package command

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// kind says how values of a type are encoded. The type parameter binds a row's kind to the type of its member.
type kind[T any] struct{ codec }

// codec is a kind without its type. It works on pointers to values of the type. Numbers and texts, which are most of
// what is encoded, are recognised by their form; other forms have functions.
type codec struct {
	name   string // For FORMAT.md.
	least  int    // Length of the shortest encoding in bytes.
	form   form
	max    uint64 // The largest number; negative ones are beyond it.
	append func(dst []byte, v unsafe.Pointer) []byte
	read   func(d *Decoder, v unsafe.Pointer)
	isZero func(v unsafe.Pointer) bool
	needs  func(v unsafe.Pointer) Level // nil when no value needs a level.
}

// form is how a codec works.
type form uint8

const (
	formOther form = iota
	formText
	form8 // A number of 8 bits, little-endian, and so on.
	form16
	form32
	form64
	form128
)

// number is the kind of a type of at most 64 bits.
func number[T ~bool | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int64](name string, limit uint64) kind[T] {
	var zero T
	size := int(unsafe.Sizeof(zero))
	return kind[T]{codec{
		name: name, least: size, max: limit, form: map[int]form{1: form8, 2: form16, 4: form32, 8: form64}[size],
	}}
}

func u8[T ~uint8]() kind[T]   { return number[T]("u8", math.MaxUint8) }
func u16[T ~uint16]() kind[T] { return number[T]("u16", math.MaxUint16) }
func u32[T ~uint32]() kind[T] { return number[T]("u32", math.MaxUint32) }
func u64[T ~uint64]() kind[T] { return number[T]("u64", math.MaxUint64) }

// enum is the kind of a type with the values from 0 to limit-1.
func enum[T ~uint8](limit int) kind[T] {
	return number[T](fmt.Sprintf("u8 below %d", limit), uint64(limit-1)) // A constant above 0.
}

// The kinds of simple members.
var (
	boolean = number[bool]("bool", 1)
	price   = number[money.Micros]("amount from 0", uint64(money.MaxMicros))
	millis  = number[int64]("i64, milliseconds", math.MaxUint64)
	whole   = number[int64]("i64 from 0", math.MaxInt64)
	text    = kind[string]{codec{name: "text", least: 1, form: formText}}
	uuid    = kind[ids.UUID]{codec{name: "id", least: 16, form: form128}}
	key16   = kind[[16]byte]{codec{name: "16 bytes", least: 16, form: form128}}
	key32   = scalar("32 bytes", 32, func(dst []byte, v [32]byte) []byte { return append(dst, v[:]...) }, (*Decoder).Key32)
	signed  = scalar("amount", 8, AppendMoney, (*Decoder).Money)
	i32     = scalar("i32", 4, appendI32, func(d *Decoder) int32 { return int32(d.U32()) }) // Two's complement both ways.
	size    = scalar("uvarint", 1, binary.AppendUvarint, (*Decoder).Uvarint)
	texts   = sequence("list of text", 1, appendTexts, (*Decoder).Texts)
	blob    = sequence("bytes", 1, AppendBytes, (*Decoder).Copy)
	amounts = scalar("4 amounts from 0", 4*8, appendAmounts, (*Decoder).amounts)
)

func appendAmounts(dst []byte, v [4]money.Micros) []byte {
	for _, amount := range v {
		dst = AppendMoney(dst, amount)
	}
	return dst
}

func (d *Decoder) amounts() (v [4]money.Micros) {
	for i := range v {
		v[i] = d.Price()
	}
	return v
}

// scalar is the kind of a comparable type with its own functions.
func scalar[T comparable](name string, least int, write func([]byte, T) []byte, read func(*Decoder) T) kind[T] {
	return kind[T]{codec{
		name: name, least: least,
		append: func(dst []byte, v unsafe.Pointer) []byte { return write(dst, *(*T)(v)) },
		read:   func(d *Decoder, v unsafe.Pointer) { *(*T)(v) = read(d) },
		isZero: func(v unsafe.Pointer) bool { var zero T; return *(*T)(v) == zero },
	}}
}

// sequence is the kind of a slice. Decoding an empty one returns nil.
func sequence[T any](name string, least int, write func([]byte, []T) []byte, read func(*Decoder) []T) kind[[]T] {
	return kind[[]T]{codec{
		name: name, least: least,
		append: func(dst []byte, v unsafe.Pointer) []byte { return write(dst, *(*[]T)(v)) },
		read:   func(d *Decoder, v unsafe.Pointer) { *(*[]T)(v) = read(d) },
		isZero: func(v unsafe.Pointer) bool { return len(*(*[]T)(v)) == 0 },
	}}
}

// write appends the value at v.
func (c *codec) write(dst []byte, v unsafe.Pointer) []byte {
	switch c.form {
	case formText:
		return AppendText(dst, *(*string)(v))
	case form8:
		return append(dst, *(*byte)(v))
	case form16:
		return binary.LittleEndian.AppendUint16(dst, *(*uint16)(v))
	case form32:
		return binary.LittleEndian.AppendUint32(dst, *(*uint32)(v))
	case form64:
		return binary.LittleEndian.AppendUint64(dst, *(*uint64)(v))
	case form128:
		return append(dst, (*[16]byte)(v)[:]...)
	default:
		return c.append(dst, v)
	}
}

// decode reads what write wrote to v.
func (c *codec) decode(d *Decoder, v unsafe.Pointer) {
	switch c.form {
	case formText:
		*(*string)(v) = d.Text()
	case form8:
		*(*uint8)(v) = uint8(c.bounded(d, uint64(d.U8()))) // Not more than was read.
	case form16:
		*(*uint16)(v) = d.U16()
	case form32:
		*(*uint32)(v) = d.U32()
	case form64:
		*(*uint64)(v) = c.bounded(d, d.U64())
	case form128:
		*(*[16]byte)(v) = d.Sixteen()
	default:
		c.read(d, v)
	}
}

// bounded returns a number, or fails and returns 0 when the number is too large.
func (c *codec) bounded(d *Decoder, n uint64) uint64 {
	if n > c.max {
		d.Fail()
		return 0
	}
	return n
}

// zero reports whether the value at v is left out of an optional row.
func (c *codec) zero(v unsafe.Pointer) bool {
	switch c.form {
	case formText:
		return *(*string)(v) == ""
	case form8:
		return *(*uint8)(v) == 0
	case form16:
		return *(*uint16)(v) == 0
	case form32:
		return *(*uint32)(v) == 0
	case form64:
		return *(*uint64)(v) == 0
	case form128:
		return *(*[16]byte)(v) == [16]byte{}
	default:
		return c.isZero(v)
	}
}
