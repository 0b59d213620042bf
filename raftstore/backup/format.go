// Package backup defines the streams that a cluster is restored from: a backup, with the state of all groups at one
// moment, and segments, each with the log entries of a time after it. It writes them, verifies them without a state
// machine, and reads them: a backup into snapshots, segments as entries. It also marks a directory while a restore or a
// recovery works in it, so that one that did not finish is refused.
package backup

import (
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/gavel-ads/gavel/raftstore/snapshot"
)

// A backup or a segment, big-endian:
//
//	head      "GVBK" or "GVLG" | format u8
//	section   chunk* | end of section       the manifest as JSON, then in its order, for each group, the snapshot stream
//	                                        (backup) or the entries (segment)
//	chunk     length u32, not 0 | bytes | crc32c u32 of number, length and bytes
//	end       0 u32 | crc32c u32 of number and length
//	trailer   sha256 of everything before, 32 bytes
//
// number counts the chunks and ends from 0, so that none can be left out or change places. Nothing follows the trailer.
const (
	backupMagic   = "GVBK"
	segmentMagic  = "GVLG"
	chunkBytesMax = 1 << 20 // BOUND: what a reader allocates for a chunk.
	manifestMax   = 1 << 20 // BOUND: of the manifest.
)

// Format is the version of both formats, which Manifest.Format and Segment.Format carry.
const Format = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrBad means that a backup or a segment is not what was written: it was cut, changed, or is something else.
var ErrBad = errors.New("the backup, or the segment of its log, is damaged or none")

// Manifest describes the content of a backup.
type Manifest struct {
	Format       int       `json:"format"`
	Cluster      string    `json:"cluster"` // 16 hex digits.
	Node         string    `json:"node"`    // The node that wrote it.
	Epoch        uint32    `json:"epoch"`   // Number of times that node was started.
	TakenAt      time.Time `json:"taken_at"`
	StateVersion uint32    `json:"state_version"` // Version of the state machine's format; see raftstore.BackupInfo.
	Groups       []Group   `json:"groups"`
}

// Group is the state of one group in a backup.
type Group struct {
	Group  uint16 `json:"group"`
	Index  uint64 `json:"index"` // The last Raft entry in the state; 0: nothing was applied yet.
	Term   uint64 `json:"term"`
	Digest string `json:"digest"` // 16 hex digits: the machine's hash of the state.
}

// header returns the head of the snapshot stream that carries the group.
func (g Group) header(cluster uint64) (snapshot.Header, error) {
	h := snapshot.Header{Cluster: cluster, Group: g.Group, Index: g.Index, Term: g.Term}
	if _, err := fmt.Sscanf(g.Digest, "%016x", &h.Digest); err != nil {
		return h, fmt.Errorf("%w: the digest %q of group %d", ErrBad, g.Digest, g.Group)
	}
	return h, nil
}

// HexText returns an id or a digest as the manifest writes it: 16 hexadecimal digits.
func HexText(v uint64) string { return fmt.Sprintf("%016x", v) }
