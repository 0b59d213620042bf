package backup

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
	"strconv"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/snapshot"
)

// Reader reads the sections of a backup or a segment, one after the other. It is not safe for concurrent use.
type Reader struct {
	r      *bufio.Reader
	sum    hash.Hash
	number uint64
	chunk  []byte // Verified, not yet read.
	buffer []byte
	ended  bool // The current section has ended.
}

// Open reads head and manifest; the sections of the groups follow: call Restore for each of them in order, then End. It
// returns ErrBad or the error of r.
func Open(r io.Reader) (b *Reader, m Manifest, err error) {
	b, err = open(r, backupMagic, &m)
	return b, m, err
}

// open reads head and manifest of a stream.
func open(r io.Reader, magic string, manifest any) (*Reader, error) {
	b := &Reader{r: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
	head, err := b.take(len(magic) + 1)
	if err != nil {
		return nil, err
	}
	if string(head[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrBad, magic)
	}
	if head[len(magic)] != Format {
		return nil, fmt.Errorf("%w: its format is %d, this program reads %d", ErrBad, head[len(magic)], Format)
	}
	text, err := io.ReadAll(io.LimitReader(b, manifestMax))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, manifest); err != nil {
		return nil, fmt.Errorf("%w: its manifest: %w", ErrBad, err)
	}
	return b, b.nextSection()
}

// take reads exactly n bytes into the buffer. OWNERSHIP: they are valid until the next call.
func (b *Reader) take(n int) ([]byte, error) {
	if cap(b.buffer) < n {
		b.buffer = make([]byte, n)
	}
	p := b.buffer[:n]
	switch _, err := io.ReadFull(b.r, p); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: it ends too early: %w", ErrBad, err)
	case err != nil: // Such as an encrypted backup that was changed.
		return nil, fmt.Errorf("%w: it cannot be read to its end: %w", ErrBad, err)
	}
	b.sum.Write(p)
	return p, nil
}

// Read reads from the current section; io.EOF is its end.
func (b *Reader) Read(p []byte) (int, error) {
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

func (b *Reader) readChunk() error {
	head, err := b.take(4)
	if err != nil {
		return err
	}
	length := slices.Clone(head)
	n := binary.BigEndian.Uint32(length)
	if n > chunkBytesMax {
		return fmt.Errorf("%w: a chunk of %d bytes, at most %d", ErrBad, n, chunkBytesMax)
	}
	body, err := b.take(int(n) + 4)
	if err != nil {
		return err
	}
	b.chunk = body[:n]
	if chunkSum(b.number, length, b.chunk) != binary.BigEndian.Uint32(body[n:]) {
		return fmt.Errorf("%w: chunk %d fails its checksum", ErrBad, b.number)
	}
	b.number++
	b.ended = n == 0
	return nil
}

// nextSection begins the next section. It returns ErrBad when the current one has not ended.
func (b *Reader) nextSection() error {
	if n, err := b.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("%w: a section is longer than it should be", ErrBad), err)
	}
	b.ended = false
	return nil
}

// group reads the section of a group and calls fn for each record. REQUIRES: the caller undoes what fn did after an
// error, also after one of End.
func (b *Reader) group(m Manifest, i int, fn func(key, value []byte) error) error {
	cluster, err := strconv.ParseUint(m.Cluster, 16, 64)
	if err != nil || cluster == 0 {
		return fmt.Errorf("%w: its cluster is %q", ErrBad, m.Cluster)
	}
	want, err := m.Groups[i].header(cluster)
	if err != nil {
		return err
	}
	h, err := snapshot.ReadHeader(b)
	if err != nil {
		return fmt.Errorf("%w: group %d: %w", ErrBad, want.Group, err)
	}
	if h != want {
		return fmt.Errorf("%w: group %d is not the one of the manifest", ErrBad, want.Group)
	}
	if want.Index == 0 { // Nothing was applied, so there must be no records.
		fn = func(_, _ []byte) error { return errors.New("records of an empty group") }
	}
	if err := snapshot.Read(b, fn); err != nil {
		return fmt.Errorf("%w: group %d: %w", ErrBad, want.Group, err)
	}
	return b.nextSection()
}

// Restore reads the section of group i of the manifest and writes it into sink as a snapshot of the given cluster. A
// group in which nothing was applied has no snapshot; sink may then be nil. It returns ErrBad or the error of the
// reader or the sink, and has then cancelled the sink; else it has closed it. REQUIRES: after an error, also after one
// of End, the caller drops all snapshots.
func (b *Reader) Restore(m Manifest, i int, cluster uint64, sink raft.SnapshotSink) error {
	if m.Groups[i].Index == 0 {
		return b.group(m, i, nil)
	}
	h, err := m.Groups[i].header(cluster)
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	w, err := snapshot.NewWriter(sink, h)
	if err == nil {
		err = b.group(m, i, w.Add)
	}
	if err == nil {
		err = w.End()
	}
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// End reads the trailer and checks that nothing follows.
func (b *Reader) End() error {
	want := b.sum.Sum(nil)
	got, err := b.take(len(want))
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%w: it fails its checksum", ErrBad)
	}
	if _, err := b.r.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: there are bytes after its end", ErrBad)
	}
	return nil
}

// Verify reads a backup to its end and checks every checksum: a dry run of a restore without the state
// machine. A flipped bit, a missing or an additional byte is ErrBad; errors of r are wrapped. BOUND: it holds one
// chunk of 1 MiB, one block of at most 64 MiB and the manifest in memory.
func Verify(r io.Reader) (Manifest, error) {
	b, m, err := Open(r)
	if err != nil {
		return m, err
	}
	for i := range m.Groups {
		if err := b.group(m, i, func(_, _ []byte) error { return nil }); err != nil {
			return m, err
		}
	}
	return m, b.End()
}
