package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/backup"
	"github.com/gavel-ads/gavel/raftstore/durable"
	"github.com/gavel-ads/gavel/raftstore/membership"
	"github.com/gavel-ads/gavel/raftstore/snapshot"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// keyTerm is the key under which Raft stores its term.
const keyTerm = "CurrentTerm"

// RestoreBackup makes an empty directory a cluster of one node, with a new cluster id and the state of a backup. Config
// is what the node will be opened with afterwards; other nodes then join it as they join any cluster. The state
// machines load the state, and its digests must be those of the manifest. Files that raftstore did not write stay
// untouched. What was written after the backup is lost, and so is the memory of which repeated commands were known,
// unless history has it: then its entries are replayed, and the digests of its segments compared as well. What history
// changes comes last.
//
// It changes nothing when Config has faults, when another process has locked the directory, when the directory holds a
// store (ErrNotEmpty) or when a RecoverQuorum in it did not end (ErrUnfinished). It returns ErrForeign when the backup
// has other groups than Config, backup.ErrBad when the backup is damaged or the restored state has another digest, or
// the error of the disk; with a history also backup.ErrGap, backup.ErrOther, or the error of its segments or its change; after these the
// directory is empty again. After a crash Open refuses it (ErrUnfinished), and RestoreBackup may be run again.
func RestoreBackup(c Config, r io.Reader, history *History) (m backup.Manifest, err error) {
	s, err := newStore(c)
	if err != nil {
		return m, err
	}
	if err := s.claimEmpty(); err != nil {
		return m, errors.Join(err, s.Close())
	}
	m, err = s.restoreBackup(r)
	if err = errors.Join(err, s.Close()); err == nil {
		err = finishRestored(c, m, history)
	}
	if err != nil {
		return m, errors.Join(err, wipeDir(&s.c), backup.End(s.c.FS, s.c.Dir))
	}
	return m, backup.End(s.c.FS, s.c.Dir)
}

// claimEmpty locks the directory, checks that it is empty or was left by a restore, and marks it as unfinished.
func (s *Store) claimEmpty() (err error) {
	c := &s.c
	if err := s.claimDir(); err != nil {
		return err
	}
	work, err := backup.Unfinished(c.FS, c.Dir)
	if err != nil {
		return err
	}
	if work == backup.NoWork {
		if found, err := firstFile(c); err != nil || found != "" {
			return errors.Join(err, fmt.Errorf("%w: there is %s", ErrNotEmpty, found))
		}
	} else if work != backup.Restore {
		return fmt.Errorf("%w: %s", ErrUnfinished, work)
	}
	if err := backup.Begin(c.FS, c.Dir, backup.Restore); err != nil {
		return err
	}
	return errors.Join(wipeDir(c), makeDirs(c))
}

// ownNames are the files and directories that the store writes into its directory, without the lock, the ballast file
// and the mark of unfinished work. Other files are never touched.
var ownNames = []string{membership.IdentityName, membership.IdentityTmp, guardName, guardName + ".tmp", divergedName, divergedTmp, logDir, stateDir, snapshotsDir}

// firstFile returns the name of a file of a store in the directory, or "". Empty directories of a store do not count.
func firstFile(c *Config) (string, error) {
	for _, name := range ownNames {
		path := c.FS.PathJoin(c.Dir, name)
		info, err := c.FS.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil || !info.IsDir() {
			return name, err
		}
		if inside, err := c.FS.List(path); err != nil || len(inside) > 0 {
			return name, err
		}
	}
	if c.WALDir == "" {
		return "", nil
	}
	inside, err := c.FS.List(c.WALDir)
	if len(inside) > 0 {
		return c.WALDir, err
	}
	return "", err
}

// wipeDir deletes what the store wrote into its directory.
func wipeDir(c *Config) (err error) {
	for _, name := range ownNames {
		err = errors.Join(err, c.FS.RemoveAll(c.FS.PathJoin(c.Dir, name)))
	}
	if c.WALDir != "" {
		err = errors.Join(err, c.FS.RemoveAll(c.WALDir))
	}
	return errors.Join(err, durable.SyncDir(c.FS, c.Dir))
}

// restoreBackup writes identity, log and snapshots. The next opening builds the state database from the snapshots.
func (s *Store) restoreBackup(r io.Reader) (m backup.Manifest, err error) {
	c := &s.c
	b, m, err := backup.Open(r)
	if err != nil {
		return m, err
	}
	var groups []uint16
	for _, g := range m.Groups {
		groups = append(groups, g.Group)
	}
	if want := slices.Sorted(slices.Values(c.Groups)); !slices.Equal(groups, want) {
		return m, fmt.Errorf("%w: the backup has groups %v, this node %v", ErrForeign, groups, want)
	}
	s.cluster = membership.NewCluster()
	s.identity = membership.Identity{Cluster: membership.ClusterText(s.cluster), Node: c.NodeID, Server: transport.NewIncarnation(c.NodeID), Groups: groups}
	if err := s.identity.Write(c.FS, c.Dir); err != nil {
		return m, err
	}
	if err := s.openLog(); err != nil {
		return m, err
	}
	if _, err := s.log.EpochAfter(m.Epoch); err != nil { // Epochs must not repeat.
		return m, err
	}
	for i := range m.Groups {
		if err := s.restoreGroup(b, m, i); err != nil {
			return m, err
		}
	}
	return m, b.End()
}

// restoreGroup writes the state of a group as a snapshot of a cluster of one.
func (s *Store) restoreGroup(b *backup.Reader, m backup.Manifest, i int) error {
	g := m.Groups[i]
	if g.Index == 0 { // Nothing was applied; the group will be bootstrapped like any other.
		return b.Restore(m, i, s.cluster, nil)
	}
	dir := s.c.FS.PathJoin(s.c.Dir, snapshotsDir, strconv.FormatUint(uint64(g.Group), 10))
	snaps, err := snapshot.Open(s.c.FS, dir, s.c.Logger)
	if err != nil {
		return err
	}
	sink, err := snaps.Create(raft.SnapshotVersionMax, g.Index, g.Term, s.soleVoter(), g.Index, nil)
	if err != nil {
		return err
	}
	if err := b.Restore(m, i, s.cluster, sink); err != nil {
		return err
	}
	return s.log.Group(g.Group).SetUint64([]byte(keyTerm), g.Term)
}

// soleVoter returns a configuration with this node as the only voter.
func (s *Store) soleVoter() raft.Configuration {
	return raft.Configuration{Servers: []raft.Server{{
		Suffrage: raft.Voter, ID: s.identity.Server, Address: raft.ServerAddress(s.c.ownAddress()),
	}}}
}

// finishRestored opens the restored directory as a lone node without a peer port, compares the digests, and replays the
// history.
func finishRestored(c Config, m backup.Manifest, history *History) error {
	s, err := openWithoutPeers(c)
	if err != nil {
		return fmt.Errorf("the restored directory does not open: %w", err)
	}
	for _, g := range m.Groups {
		if err = s.groups[g.Group].WaitReady(context.Background()); err != nil {
			break
		}
		if g.Index == 0 {
			continue
		}
		if err = s.groups[g.Group].checkDigest(g.Digest, "the backup"); err != nil {
			break
		}
	}
	if err == nil && history != nil {
		err = s.replay(m, *history)
	}
	if err == nil && history != nil && history.Change != nil {
		err = history.Change(s)
	}
	return errors.Join(err, s.Close())
}

// openWithoutPeers opens a directory with unfinished work, without peers.
func openWithoutPeers(c Config) (*Store, error) {
	c.PeerListen, c.TLS, c.Insecure = "", nil, false
	c.Seeds, c.Expect, c.Learner, c.Advertise = nil, 0, false, ""
	c.unfinished = true
	return Open(c)
}
