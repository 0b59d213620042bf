package snapshot

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/durable"
)

// Create begins a snapshot.
func (s *Store) Create(version raft.SnapshotVersion, index, term uint64, c raft.Configuration, cIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	if version != raft.SnapshotVersionMax {
		return nil, fmt.Errorf("snapshot version %d is not supported", version)
	}
	id, err := s.freeID(index, term)
	if err != nil {
		return nil, err
	}
	k := &sink{store: s, tmp: s.fs.PathJoin(s.dir, id+tmpSuffix), meta: raft.SnapshotMeta{
		Version: version, ID: id, Index: index, Term: term, Configuration: c, ConfigurationIndex: cIndex,
	}}
	if err := s.fs.RemoveAll(k.tmp); err != nil {
		return nil, err
	}
	if err := s.fs.MkdirAll(k.tmp, 0o700); err != nil {
		return nil, err
	}
	f, err := s.fs.Create(s.fs.PathJoin(k.tmp, stateName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	// Close of this sink syncs the file itself.
	k.file = vfs.NewSyncingFile(f, vfs.SyncingFileOptions{BytesPerSync: bytesPerSync, NoSyncOnClose: true})
	k.w = bufio.NewWriterSize(k.file, writeBufferBytes)
	return k, nil
}

// freeID returns an unused name for a snapshot. A second one of the same index gets a name of its own, because the
// first must stay until it is deleted in its turn.
func (s *Store) freeID(index, term uint64) (string, error) {
	names, err := s.fs.List(s.dir)
	for n := 0; ; n++ {
		id := fmt.Sprintf("%016x-%016x-%04x", index, term, n)
		if err != nil || !slices.Contains(names, id) {
			return id, err
		}
	}
}

// sink is a snapshot being written.
type sink struct {
	store *Store
	tmp   string
	meta  raft.SnapshotMeta
	file  vfs.File
	w     *bufio.Writer
	ended bool
}

// ID names the snapshot.
func (k *sink) ID() string { return k.meta.ID }

// Write appends to the stream. It copies, because a vfs.File may change the bytes that it is given.
func (k *sink) Write(p []byte) (int, error) {
	n, err := k.w.Write(p)
	k.meta.Size += int64(n)
	return n, err
}

// Cancel drops the snapshot. After Close it does nothing.
func (k *sink) Cancel() error {
	if k.ended {
		return nil
	}
	k.ended = true
	return errors.Join(k.file.Close(), k.store.fs.RemoveAll(k.tmp))
}

// Close makes the snapshot durable and visible, then deletes all but the newest two.
func (k *sink) Close() error {
	if k.ended {
		return nil
	}
	k.ended = true
	fs, s := k.store.fs, k.store
	if err := errors.Join(k.w.Flush(), k.file.Sync(), k.file.Close()); err != nil {
		return errors.Join(err, fs.RemoveAll(k.tmp))
	}
	if err := k.writeMeta(); err != nil {
		return errors.Join(err, fs.RemoveAll(k.tmp))
	}
	final := fs.PathJoin(s.dir, k.meta.ID)
	if err := errors.Join(durable.SyncDir(fs, k.tmp), fs.Rename(k.tmp, final), durable.SyncDir(fs, s.dir)); err != nil {
		return err
	}
	s.newest.Store(k.meta.Size)
	return s.deleteOld()
}

func (k *sink) writeMeta() error {
	plain, err := json.Marshal(k.meta)
	if err != nil {
		return err
	}
	b, err := json.Marshal(file{Meta: k.meta, CRC: crc32.Checksum(plain, castagnoli)})
	if err != nil {
		return err
	}
	f, err := k.store.fs.Create(k.store.fs.PathJoin(k.tmp, metaName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}
