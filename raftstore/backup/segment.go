package backup

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Segment describes the content of a segment: the commands that all groups have applied between two moments. A backup
// and the segments that follow it without a gap give the state of every moment up to the end of the last one.
type Segment struct {
	Format       int       `json:"format"`
	Cluster      string    `json:"cluster"` // 16 hex digits.
	Node         string    `json:"node"`    // The node that wrote it.
	TakenAt      time.Time `json:"taken_at"`
	StateVersion uint32    `json:"state_version"` // As in Manifest.
	Groups       []Span    `json:"groups"`
}

// Span is the part of a group's log that a segment has: the entries from After, excluded, to Index, included. Those
// without commands are left out.
type Span struct {
	Group  uint16 `json:"group"`
	After  uint64 `json:"after"`
	Index  uint64 `json:"index"`
	Digest string `json:"digest,omitempty"` // Of the state at Index, as in Group; empty when it is not known.
}

// Entries calls fn for the entries of a span, in order. OWNERSHIP: fn keeps nothing of data.
type Entries func(fn func(index uint64, data []byte) error) error

// An entry in its section:
//
//	index u64 | length u32 | data
const (
	entryHeadBytes = 8 + 4
	entryBytesMax  = 16 << 20 // BOUND: what a reader allocates for an entry; the largest command has 12 MiB.
)

// WriteSegment writes a segment: the manifest, and the entries of its groups in their order. It returns the errors of w
// and of the entries, and ctx.Err when ctx ends first.
func WriteSegment(ctx context.Context, w io.Writer, s Segment, groups []Entries) error {
	b, err := begin(ctx, w, segmentMagic, s)
	if err != nil {
		return err
	}
	for _, each := range groups {
		err := each(func(index uint64, data []byte) error {
			head := binary.BigEndian.AppendUint64(nil, index)
			head = binary.BigEndian.AppendUint32(head, uint32(len(data)))
			_, err := b.Write(append(head, data...))
			return err
		})
		if err = errors.Join(err, b.endSection()); err != nil {
			return err
		}
	}
	return b.end()
}

// ReadSegment reads what a segment is, and none of its entries. It returns ErrBad or the error of r.
func ReadSegment(r io.Reader) (Segment, error) {
	_, s, err := openSegment(r)
	return s, err
}

// openSegment reads head and manifest of a segment. The sections of its groups follow.
func openSegment(r io.Reader) (b *Reader, s Segment, err error) {
	b, err = open(r, segmentMagic, &s)
	return b, s, err
}

// entries reads the section of a span and calls fn for each entry. OWNERSHIP: fn keeps nothing of data.
func (b *Reader) entries(span Span, fn func(index uint64, data []byte) error) error {
	var head [entryHeadBytes]byte
	var data []byte
	for last := span.After; ; {
		switch _, err := io.ReadFull(b, head[:]); {
		case errors.Is(err, io.EOF):
			return b.nextSection()
		case errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%w: group %d: the section ends in an entry", ErrBad, span.Group)
		case err != nil:
			return err
		}
		index, n := binary.BigEndian.Uint64(head[:]), binary.BigEndian.Uint32(head[8:])
		if index <= last || index > span.Index || n > entryBytesMax {
			return fmt.Errorf("%w: group %d: entry %d of %d bytes after entry %d", ErrBad, span.Group, index, n, last)
		}
		last = index
		if uint32(cap(data)) < n {
			data = make([]byte, n)
		}
		if _, err := io.ReadFull(b, data[:n]); err != nil {
			return fmt.Errorf("%w: group %d: entry %d: %w", ErrBad, span.Group, index, err)
		}
		if err := fn(index, data[:n]); err != nil {
			return err
		}
	}
}
