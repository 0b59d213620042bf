package raftstore

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/gavel-ads/gavel/raftstore/snapshot"
)

// backupReader reads the sections of a backup, one after the other.
type backupReader struct {
	r      *bufio.Reader
	sum    hash.Hash
	number uint64
	chunk  []byte // Verified, not yet read.
	buffer []byte
	ended  bool // The current section has ended.
}

// openBackup reads head and manifest; the sections of the groups follow. It returns ErrBadBackup or the error of r.
func openBackup(r io.Reader) (b *backupReader, m Manifest, err error) {
	b = &backupReader{r: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
	head, err := b.take(len(backupMagic) + 1)
	if err != nil {
		return nil, m, err
	}
	if string(head[:len(backupMagic)]) != backupMagic {
		return nil, m, fmt.Errorf("%w: it does not begin with %q", ErrBadBackup, backupMagic)
	}
	if head[len(backupMagic)] != backupFormat {
		return nil, m, fmt.Errorf("%w: its format is %d, this program reads %d", ErrBadBackup, head[len(backupMagic)], backupFormat)
	}
	text, err := io.ReadAll(io.LimitReader(b, manifestMax))
	if err != nil {
		return nil, m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, m, fmt.Errorf("%w: its manifest: %w", ErrBadBackup, err)
	}
	return b, m, b.nextSection()
}

// take reads exactly n bytes into the buffer. OWNERSHIP: they are valid until the next call.
func (b *backupReader) take(n int) ([]byte, error) {
	if cap(b.buffer) < n {
		b.buffer = make([]byte, n)
	}
	p := b.buffer[:n]
	if _, err := io.ReadFull(b.r, p); err != nil {
		return nil, fmt.Errorf("%w: it ends too early: %w", ErrBadBackup, err)
	}
	b.sum.Write(p)
	return p, nil
}

// Read reads from the current section; io.EOF is its end.
func (b *backupReader) Read(p []byte) (int, error) {
	for len(b.chunk) == 0 {
		if b.ended {
			return 0, io.EOF
		}
		if err := b.readChunk(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.chunk)
	b.chunk = b.chunk[n:]
	return n, nil
}

func (b *backupReader) readChunk() error {
	head, err := b.take(4)
	if err != nil {
		return err
	}
	length := slices.Clone(head)
	n := binary.BigEndian.Uint32(length)
	if n > chunkBytesMax {
		return fmt.Errorf("%w: a chunk of %d bytes, at most %d", ErrBadBackup, n, chunkBytesMax)
	}
	body, err := b.take(int(n) + 4)
	if err != nil {
		return err
	}
	b.chunk = body[:n]
	if chunkSum(b.number, length, b.chunk) != binary.BigEndian.Uint32(body[n:]) {
		return fmt.Errorf("%w: chunk %d fails its checksum", ErrBadBackup, b.number)
	}
	b.number++
	b.ended = n == 0
	return nil
}

// nextSection begins the next section. It returns ErrBadBackup when the current one has not ended.
func (b *backupReader) nextSection() error {
	if n, err := b.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("%w: a section is longer than it should be", ErrBadBackup), err)
	}
	b.ended = false
	return nil
}

// group reads the section of a group and calls fn for each record. REQUIRES: the caller undoes what fn did after an
// error, also after one of end.
func (b *backupReader) group(m Manifest, i int, fn func(key, value []byte) error) error {
	cluster, err := (identity{Cluster: m.Cluster}).clusterID()
	if err != nil {
		return fmt.Errorf("%w: its cluster is %q", ErrBadBackup, m.Cluster)
	}
	want, err := m.Groups[i].header(cluster)
	if err != nil {
		return err
	}
	h, err := snapshot.ReadHeader(b)
	if err != nil {
		return fmt.Errorf("%w: group %d: %w", ErrBadBackup, want.Group, err)
	}
	if h != want {
		return fmt.Errorf("%w: group %d is not the one of the manifest", ErrBadBackup, want.Group)
	}
	if want.Index == 0 { // Nothing was applied, so there must be no records.
		fn = func(_, _ []byte) error { return errors.New("records of an empty group") }
	}
	if err := snapshot.Read(b, fn); err != nil {
		return fmt.Errorf("%w: group %d: %w", ErrBadBackup, want.Group, err)
	}
	return b.nextSection()
}

// end reads the trailer and checks that nothing follows.
func (b *backupReader) end() error {
	want := b.sum.Sum(nil)
	got, err := b.take(len(want))
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%w: it fails its checksum", ErrBadBackup)
	}
	if _, err := b.r.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: there are bytes after its end", ErrBadBackup)
	}
	return nil
}

// VerifyBackup reads a backup to its end and checks every checksum: a dry run of RestoreBackup without the state
// machine. A flipped bit, a missing or an additional byte is ErrBadBackup; errors of r are wrapped. BOUND: it holds one
// chunk of 1 MiB, one block of at most 64 MiB and the manifest in memory.
func VerifyBackup(r io.Reader) (Manifest, error) {
	b, m, err := openBackup(r)
	if err != nil {
		return m, err
	}
	for i := range m.Groups {
		if err := b.group(m, i, func(_, _ []byte) error { return nil }); err != nil {
			return m, err
		}
	}
	return m, b.end()
}
