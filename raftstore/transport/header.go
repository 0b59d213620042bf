package transport

import (
	"encoding/binary"
	"errors"
)

// Kind says what a connection carries.
type Kind uint8

// Kinds of connections.
const (
	Raft    Kind = 1 // Calls of one group.
	Forward Kind = 2 // Commands on their way to a leader, of all groups.
	Control Kind = 3 // Founding, joining, leaving. The only kind that a node may open that has no cluster yet.
)

const (
	headerVersion = 1
	headerBytes   = 16
)

// header opens every connection: "GV" | ver u8 | kind u8 | group u16 | flags u16 | cluster u64, big-endian.
type header struct {
	kind    Kind
	group   uint16
	cluster uint64
}

var (
	errNotGavel = errors.New("not a peer")
	errVersion  = errors.New("another version")
)

func (h header) append(dst []byte) []byte {
	dst = append(dst, 'G', 'V', headerVersion, byte(h.kind))
	dst = binary.BigEndian.AppendUint16(dst, h.group)
	dst = append(dst, 0, 0)
	return binary.BigEndian.AppendUint64(dst, h.cluster)
}

func parseHeader(b [headerBytes]byte) (header, error) {
	if b[0] != 'G' || b[1] != 'V' {
		return header{}, errNotGavel
	}
	if b[2] != headerVersion || b[6] != 0 || b[7] != 0 {
		return header{}, errVersion
	}
	return header{kind: Kind(b[3]), group: binary.BigEndian.Uint16(b[4:]), cluster: binary.BigEndian.Uint64(b[8:])}, nil
}
