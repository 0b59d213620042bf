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

// ErrBadBackup means that a backup is not what was written: it was cut, changed, or is no backup at all.
var ErrBadBackup = errors.New("the backup is damaged or no backup")

// Manifest describes the content of a backup.
type Manifest struct {
	Format       int           `json:"format"`
	Cluster      string        `json:"cluster"` // 16 hex digits.
	Node         string        `json:"node"`    // The node that wrote it.
	Epoch        uint32        `json:"epoch"`   // Store.Epoch of that node.
	TakenAt      time.Time     `json:"taken_at"`
	StateVersion uint32        `json:"state_version"` // BackupInfo.StateVersion.
	Groups       []BackupGroup `json:"groups"`
}

// BackupGroup is the state of one group in a backup.
type BackupGroup struct {
	Group  uint16 `json:"group"`
	Index  uint64 `json:"index"` // The last Raft entry in the state; 0: nothing was applied yet.
	Term   uint64 `json:"term"`
	Digest string `json:"digest"` // 16 hex digits: the machine's hash of the state.
}

// BackupInfo is what only the caller of Backup knows.
type BackupInfo struct {
	TakenAt      time.Time // When the backup was made, by the clock of the caller.
	StateVersion uint32    // Version of the state machine's format.
	// Local takes the state as it is on this node. Otherwise the backup contains every command that was answered before
	// the call, which needs a leader of every group.
	Local bool
}

// Backup writes the state of all groups to w, each group as it was at one moment during the call, while commands go on.
// VerifyBackup checks the stream, and RestoreBackup makes a cluster of it. Close of the store waits for Backup.
//
// Errors are ErrClosed, ErrRestoring (a snapshot is replacing the state of a group), those of ReadBarrier unless
// info.Local, ctx.Err, and those of w. After an error the bytes written so far are of no use.
func (s *Store) Backup(ctx context.Context, w io.Writer, info BackupInfo) (m Manifest, err error) {
	if !s.acquire() {
		return m, ErrClosed
	}
	defer s.release()
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
		snap, err := g.machine.stateSnapshot()
		if err != nil {
			return m, fmt.Errorf("group %d: %w", id, err)
		}
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

// backupWriter writes sections as chunks with checksums.
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

// put writes the parts and keeps the first error.
func (b *backupWriter) put(parts ...[]byte) {
	for _, p := range parts {
		if b.err == nil {
			b.sum.Write(p)
			_, b.err = b.w.Write(p)
		}
	}
}

// Write appends to the current section.
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
