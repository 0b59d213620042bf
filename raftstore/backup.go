package raftstore

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/raftstore/snapshot"
	"github.com/gavel-ads/gavel/raftstore/statedb"
)

// A backup, big-endian:
//
//	head      "GVBK" | format u8
//	section   chunk* | end of section       the manifest as JSON, then the snapshot stream of each group in its order
//	chunk     length u32, not 0 | bytes | crc32c u32 of number, length and bytes
//	end       0 u32 | crc32c u32 of number and length
//	trailer   sha256 of everything before, 32 bytes
//
// number counts the chunks and ends from 0, so that none can be left out or change places. Nothing follows the trailer.
const (
	backupMagic   = "GVBK"
	backupFormat  = 1
	chunkBytesMax = 1 << 20 // BOUND: what a reader allocates for a chunk.
	manifestMax   = 1 << 20 // BOUND: of the manifest.
)

// ErrBadBackup means that a backup is not what was written: cut, changed, or no backup.
var ErrBadBackup = errors.New("the backup is damaged or no backup")

// Manifest says what a backup holds.
type Manifest struct {
	Format       int           `json:"format"`
	Cluster      string        `json:"cluster"` // 16 hex digits.
	Node         string        `json:"node"`    // That made it.
	Epoch        uint32        `json:"epoch"`   // Of that node then.
	TakenAt      time.Time     `json:"taken_at"`
	StateVersion uint32        `json:"state_version"` // As given to Backup.
	Groups       []BackupGroup `json:"groups"`
}

// BackupGroup is the state of one group in a backup.
type BackupGroup struct {
	Group  uint16 `json:"group"`
	Index  uint64 `json:"index"` // Of the last raft entry in the state; 0: nothing was applied yet.
	Term   uint64 `json:"term"`
	Digest string `json:"digest"` // 16 hex digits: the machine's hash of the state.
}

// BackupInfo is what only the caller of Backup knows.
type BackupInfo struct {
	TakenAt      time.Time
	StateVersion uint32 // Of the state machine's format.
	// Local takes the state as it is on this node. Otherwise the backup has every command answered before the call, which
	// needs a leader of every group.
	Local bool
}

// Backup writes the state of all groups, each as it was at one moment during the call, while commands go on. The stream can
// be checked by VerifyBackup and becomes a cluster again by RestoreBackup. After an error what was written is of no use.
func (s *Store) Backup(ctx context.Context, w io.Writer, info BackupInfo) (m Manifest, err error) {
	if !s.enter() {
		return m, ErrClosed
	}
	defer s.leave()
	m = Manifest{
		Format: backupFormat, Cluster: s.identity.Cluster, Node: s.c.NodeID, Epoch: s.epoch, TakenAt: info.TakenAt.UTC(), StateVersion: info.StateVersion,
	}
	var snaps []*statedb.Snapshot
	defer func() {
		for _, snap := range snaps {
			err = errors.Join(err, snap.Close())
		}
	}()
	for _, id := range slices.Sorted(slices.Values(s.c.Groups)) {
		g := s.groups[id]
		if !info.Local {
			if err := g.ReadBarrier(ctx); err != nil {
				return m, fmt.Errorf("group %d: %w", id, err)
			}
		}
		snap := g.machine.state.Snapshot()
		snaps = append(snaps, snap)
		a, _, err := snap.Applied()
		if err != nil {
			return m, err
		}
		m.Groups = append(m.Groups, BackupGroup{Group: id, Index: a.Index, Term: a.Term, Digest: clusterText(a.Digest)})
	}
	return m, writeBackup(ctx, w, m, s.cluster, snaps)
}

func writeBackup(ctx context.Context, w io.Writer, m Manifest, cluster uint64, snaps []*statedb.Snapshot) error {
	b := newBackupWriter(ctx, w)
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = b.Write(text)
	if err = errors.Join(err, b.endSection()); err != nil {
		return err
	}
	for i, snap := range snaps {
		h, err := m.Groups[i].header(cluster)
		if err != nil {
			return err
		}
		out, err := snapshot.NewWriter(b, h)
		if err != nil {
			return err
		}
		if err := snap.Each(out.Add); err != nil {
			return err
		}
		if err := errors.Join(out.End(), b.endSection()); err != nil {
			return err
		}
	}
	return b.end()
}

func (g BackupGroup) header(cluster uint64) (snapshot.Header, error) {
	h := snapshot.Header{Cluster: cluster, Group: g.Group, Index: g.Index, Term: g.Term}
	if _, err := fmt.Sscanf(g.Digest, "%016x", &h.Digest); err != nil {
		return h, fmt.Errorf("%w: the digest %q of group %d", ErrBadBackup, g.Digest, g.Group)
	}
	return h, nil
}

// backupWriter cuts sections into chunks.
type backupWriter struct {
	ctx    context.Context
	w      *bufio.Writer
	sum    hash.Hash
	number uint64
	err    error
}

func newBackupWriter(ctx context.Context, w io.Writer) *backupWriter {
	b := &backupWriter{ctx: ctx, w: bufio.NewWriterSize(w, 64<<10), sum: sha256.New()}
	b.put([]byte(backupMagic), []byte{backupFormat})
	return b
}

// put writes and remembers the first error.
func (b *backupWriter) put(parts ...[]byte) {
	for _, p := range parts {
		if b.err == nil {
			b.sum.Write(p)
			_, b.err = b.w.Write(p)
		}
	}
}

// Write appends to the section.
func (b *backupWriter) Write(p []byte) (int, error) {
	for part := range slices.Chunk(p, chunkBytesMax) {
		if b.err == nil {
			b.err = b.ctx.Err()
		}
		b.chunk(part)
	}
	return len(p), b.err
}

func (b *backupWriter) chunk(p []byte) {
	length := binary.BigEndian.AppendUint32(nil, uint32(len(p)))
	b.put(length, p, binary.BigEndian.AppendUint32(nil, chunkSum(b.number, length, p)))
	b.number++
}

func (b *backupWriter) endSection() error {
	b.chunk(nil)
	return b.err
}

func (b *backupWriter) end() error {
	b.put(b.sum.Sum(nil))
	return errors.Join(b.err, b.w.Flush())
}

func chunkSum(number uint64, length, p []byte) uint32 {
	sum := crc32.Checksum(binary.BigEndian.AppendUint64(nil, number), castagnoli)
	return crc32.Update(crc32.Update(sum, castagnoli, length), castagnoli, p)
}

// backupReader reads one section after the other.
type backupReader struct {
	r      *bufio.Reader
	sum    hash.Hash
	number uint64
	chunk  []byte // Verified, not yet read.
	buffer []byte
	ended  bool // The section.
}

// openBackup reads head and manifest; the sections of the groups follow.
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

// take reads exactly n bytes into the buffer.
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

// Read reads from the section; io.EOF is its end.
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

// nextSection goes on behind the end of this section, which must be there.
func (b *backupReader) nextSection() error {
	if n, err := b.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("%w: a section is longer than it should be", ErrBadBackup), err)
	}
	b.ended = false
	return nil
}

// group reads the section of a group: fn is called for each record. REQUIRES: what fn did is undone after an error, also
// after one of end.
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
	if err := snapshot.Read(b, fn); err != nil {
		return fmt.Errorf("%w: group %d: %w", ErrBadBackup, want.Group, err)
	}
	return b.nextSection()
}

// end reads the trailer and makes sure that nothing follows.
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

// VerifyBackup reads a backup to its end and checks every checksum: a dry run of RestoreBackup, without the state machine. A
// flipped bit, a missing or an added byte is an error (ErrBadBackup).
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
