package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"slices"

	"github.com/gavel-ads/gavel/raftstore/snapshot"
)

// State is the state of a group at one moment. Each calls fn for all its records in order.
type State interface {
	Each(fn func(key, value []byte) error) error
}

// Write writes a backup: the manifest, and the states of its groups in their order. It returns the errors of w and of
// the states, and ctx.Err when ctx ends first.
func Write(ctx context.Context, w io.Writer, m Manifest, cluster uint64, states []State) error {
	b, err := begin(ctx, w, backupMagic, m)
	if err != nil {
		return err
	}
	for i, state := range states {
		h, err := m.Groups[i].header(cluster)
		if err != nil {
			return err
		}
		out, err := snapshot.NewWriter(b, h)
		if err != nil {
			return err
		}
		if err := state.Each(out.Add); err != nil {
			return err
		}
		if err := errors.Join(out.End(), b.endSection()); err != nil {
			return err
		}
	}
	return b.end()
}

// writer writes sections as chunks with checksums.
type writer struct {
	ctx    context.Context
	w      *bufio.Writer
	sum    hash.Hash
	number uint64
	err    error
}

// begin writes head and manifest.
func begin(ctx context.Context, w io.Writer, magic string, manifest any) (*writer, error) {
	text, err := json.Marshal(manifest)
	if err != nil {
		return nil, err
	}
	b := &writer{ctx: ctx, w: bufio.NewWriterSize(w, 64<<10), sum: sha256.New()}
	b.put([]byte(magic), []byte{Format})
	_, err = b.Write(text)
	return b, errors.Join(err, b.endSection())
}

// put writes the parts and keeps the first error.
func (b *writer) put(parts ...[]byte) {
	for _, p := range parts {
		if b.err == nil {
			b.sum.Write(p)
			_, b.err = b.w.Write(p)
		}
	}
}

// Write appends to the current section.
func (b *writer) Write(p []byte) (int, error) {
	for part := range slices.Chunk(p, chunkBytesMax) {
		if b.err == nil {
			b.err = b.ctx.Err()
		}
		b.chunk(part)
	}
	return len(p), b.err
}

func (b *writer) chunk(p []byte) {
	length := binary.BigEndian.AppendUint32(nil, uint32(len(p)))
	b.put(length, p, binary.BigEndian.AppendUint32(nil, chunkSum(b.number, length, p)))
	b.number++
}

func (b *writer) endSection() error {
	b.chunk(nil)
	return b.err
}

func (b *writer) end() error {
	b.put(b.sum.Sum(nil))
	return errors.Join(b.err, b.w.Flush())
}

func chunkSum(number uint64, length, p []byte) uint32 {
	sum := crc32.Checksum(binary.BigEndian.AppendUint64(nil, number), castagnoli)
	return crc32.Update(crc32.Update(sum, castagnoli, length), castagnoli, p)
}
