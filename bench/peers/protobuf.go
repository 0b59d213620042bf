package main

import "encoding/binary"

// The few messages of etcd that are needed here are encoded by hand: a field is its number and wire type, then a varint or a length and
// bytes.

const (
	wireVarint = 0
	wireBytes  = 2
)

// appendNumber appends a field with a number.
func appendNumber(dst []byte, field int, v int64) []byte {
	dst = binary.AppendUvarint(dst, uint64(field<<3|wireVarint))
	return binary.AppendUvarint(dst, uint64(v))
}

// appendField appends a field with bytes: a text or a message.
func appendField(dst []byte, field int, v []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(field<<3|wireBytes))
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
}

// eachField calls fn for every field of a message, with its number or its bytes. It returns false when the message is damaged.
func eachField(message []byte, fn func(field int, number uint64, bytes []byte)) bool {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return false
		}
		message = message[n:]
		value, n := binary.Uvarint(message)
		if n <= 0 {
			return false
		}
		message = message[n:]
		switch tag & 7 {
		case wireVarint:
			fn(int(tag>>3), value, nil)
		case wireBytes:
			if value > uint64(len(message)) {
				return false
			}
			fn(int(tag>>3), 0, message[:value])
			message = message[value:]
		default:
			return false
		}
	}
	return true
}
