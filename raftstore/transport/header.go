package transport

import (
	"encoding/binary"
	"errors"
	"io"
)

// Kind says what a connection carries.
type Kind uint8

// Kinds of connections.
const (
	Raft    Kind = 1 // Raft calls of one group.
	Forward Kind = 2 // Commands on their way to a leader, of all groups.
	Stream  Kind = 4 // Bytes between members that this package does not interpret.
	Control Kind = 3 // Founding, joining, leaving: the only kind that a node without a cluster may open.
)

const (
	headerVersion = 1
	headerBytes   = 16
)

// header begins every connection, big-endian:
//
//	"GV" | ver u8 | kind u8 | group u16 | 0 u8 | length of target u8 | cluster u64 | target
//
// The target is the Raft server that calls are meant for, empty for the other kinds; see addressee.go.
type header struct {
	kind    Kind
	group   uint16
	cluster uint64
	target  string
}

// targetBytesMax bounds a server id, whose length is one byte.
const targetBytesMax = 255

var (
	errNotGavel = errors.New("the connection does not begin with a Gavel peer header")
	errVersion  = errors.New("the peer header has another version")
)

func (h header) append(dst []byte) []byte {
	dst = append(dst, 'G', 'V', headerVersion, byte(h.kind))
	dst = binary.BigEndian.AppendUint16(dst, h.group)
	dst = append(dst, 0, byte(len(h.target)))
	dst = binary.BigEndian.AppendUint64(dst, h.cluster)
	return append(dst, h.target...)
}

func readHeader(r io.Reader) (header, error) {
	var b [headerBytes]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return header{}, err
	}
	if b[0] != 'G' || b[1] != 'V' {
		return header{}, errNotGavel
	}
	if b[2] != headerVersion || b[6] != 0 {
		return header{}, errVersion
	}
	target := make([]byte, b[7])
	if _, err := io.ReadFull(r, target); err != nil {
		return header{}, err
	}
	return header{Kind(b[3]), binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint64(b[8:]), string(target)}, nil
}
