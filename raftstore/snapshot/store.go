// Package snapshot stores Raft snapshots: checksummed streams of a group's state in directories that appear complete or
// not at all.
package snapshot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/durable"
)

const (
	retain    = 2 // Snapshots kept of each group: the older one serves when the newest is corrupt.
	tmpSuffix = ".tmp"
	metaName  = "meta.json"
	stateName = "state"

	writeBufferBytes = 1 << 20
	// bytesPerSync is after how many bytes a snapshot that is being written is given to the disk. The kernel would write them
	// five seconds later, all together, and what must be on the disk meanwhile would wait behind them.
	bytesPerSync = 512 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Store is the raft.SnapshotStore of one group.
//
// raft.FileSnapshotStore is not used: it renames a directory whose entries were not synced, it never deletes unfinished
// directories, so that a crash loop fills the disk, and it bypasses the file system that crash tests inspect.
type Store struct {
	fs         vfs.FS
	dir        string
	logger     *slog.Logger
	tmpDeleted int
	newest     atomic.Int64 // Size of the newest snapshot in bytes.

	cluster uint64   // The cluster's id; see SetClusterIDs.
	former  []uint64 // The ids that it had before.
}

var _ raft.SnapshotStore = (*Store)(nil)

// file is the content of meta.json.
type file struct {
	Meta raft.SnapshotMeta
	CRC  uint32 // CRC-32C of Meta as JSON.
}

// Open opens or creates the store in a directory and deletes unfinished snapshots.
func Open(fs vfs.FS, dir string, logger *slog.Logger) (*Store, error) {
	s := &Store{fs: fs, dir: dir, logger: logger}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, tmpSuffix) {
			continue
		}
		if err := fs.RemoveAll(fs.PathJoin(dir, name)); err != nil {
			return nil, err
		}
		s.tmpDeleted++
	}
	if metas, err := s.List(); err != nil {
		return nil, err
	} else if len(metas) > 0 {
		s.newest.Store(metas[0].Size)
	}
	return s, errors.Join(durable.SyncDir(fs, fs.PathDir(dir)), durable.SyncDir(fs, dir))
}

// NewestBytes is the size of the newest snapshot in bytes, 0 for none.
func (s *Store) NewestBytes() int64 { return s.newest.Load() }

// TmpDeleted is the number of unfinished snapshots that Open deleted.
func (s *Store) TmpDeleted() int { return s.tmpDeleted }

// List returns the readable snapshots, newest first. One whose description is damaged is left out, with a warning in
// the log.
func (s *Store) List() ([]*raft.SnapshotMeta, error) {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return nil, err
	}
	var metas []*raft.SnapshotMeta
	for _, name := range names {
		if strings.HasSuffix(name, tmpSuffix) {
			continue
		}
		m, err := s.meta(name)
		if err != nil {
			s.logger.Warn("snapshot_unreadable", slog.String("snapshot", name), slog.Any("err", err))
			continue
		}
		metas = append(metas, m)
	}
	slices.SortFunc(metas, func(a, b *raft.SnapshotMeta) int {
		return -cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Term, b.Term), cmp.Compare(a.ID, b.ID))
	})
	return metas, nil
}

func (s *Store) meta(id string) (*raft.SnapshotMeta, error) {
	f, err := s.fs.Open(s.fs.PathJoin(s.dir, id, metaName))
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	var m file
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, err
	}
	plain, err := json.Marshal(m.Meta)
	if err != nil {
		return nil, err
	}
	if crc32.Checksum(plain, castagnoli) != m.CRC || m.Meta.ID != id {
		return nil, errors.New("the description fails its checksum")
	}
	info, err := s.fs.Stat(s.fs.PathJoin(s.dir, id, stateName))
	if err != nil {
		return nil, err
	}
	if info.Size() != m.Meta.Size {
		return nil, fmt.Errorf("the state has %d bytes instead of %d", info.Size(), m.Meta.Size)
	}
	return &m.Meta, nil
}

// Open returns the stream of a snapshot. It does not block a new snapshot: on Unix an open file outlives its deletion.
func (s *Store) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	m, err := s.meta(id)
	if err != nil {
		return nil, nil, err
	}
	f, err := s.fs.Open(s.fs.PathJoin(s.dir, id, stateName))
	if err != nil || len(s.former) == 0 {
		return m, f, err
	}
	return m, s.withCurrentCluster(f), nil
}

// SetClusterIDs sets the id of the cluster and those it had before it was recovered from the loss of its quorum.
// Snapshots that carry an old id are read as if they carried the new one, also by followers that do not know the old
// one.
func (s *Store) SetClusterIDs(cluster uint64, former []uint64) { s.cluster, s.former = cluster, former }

// withCurrentCluster replaces a former cluster id in the header of a stream. A header that cannot be read stays as it
// is, so that its reader reports it.
func (s *Store) withCurrentCluster(f io.ReadCloser) io.ReadCloser {
	head := make([]byte, headerBytes)
	n, err := io.ReadFull(f, head)
	head = head[:n]
	if err == nil {
		if h, err := ReadHeader(bytes.NewReader(head)); err == nil && slices.Contains(s.former, h.Cluster) {
			h.Cluster = s.cluster
			head = appendHeader(nil, h)
		}
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), f), f}
}

// deleteOld deletes all but the newest snapshots, each under a temporary name first so that a crash leaves no half one.
func (s *Store) deleteOld() error {
	metas, err := s.List()
	if err != nil || len(metas) <= retain {
		return err
	}
	for _, m := range metas[retain:] {
		old := s.fs.PathJoin(s.dir, m.ID)
		if err := s.fs.Rename(old, old+tmpSuffix); err != nil {
			return err
		}
		if err := s.fs.RemoveAll(old + tmpSuffix); err != nil {
			return err
		}
	}
	return durable.SyncDir(s.fs, s.dir)
}
