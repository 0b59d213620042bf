package raftstore

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/backup"
	"github.com/gavel-ads/gavel/raftstore/membership"
	"github.com/gavel-ads/gavel/raftstore/snapshot"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// Recovery is what RecoverQuorum found and did.
type Recovery struct {
	Former  uint64 // The cluster id before.
	Cluster uint64 // The cluster id now.
	Groups  []RecoveredGroup
}

// RecoveredGroup is what RecoverQuorum found in one group.
type RecoveredGroup struct {
	Group  uint16
	Voters []string // Node ids of the voters before.
	Last   uint64   // The newest entry that this node has. Acknowledged entries beyond it are lost.
	// Committed is an entry that surely was committed. The entries between it and Last may have been committed, or were
	// never acknowledged; all of them are applied now.
	Committed uint64

	soleVoter bool // This node was the only voter before.
}

// RecoverQuorum makes a node that survived the permanent loss of a majority the only voter of every group, with the
// entries that its log has. The node must not run (the directory is locked), and Config is what it was opened with.
// Nothing else brings such a cluster back. Everything that the lost majority acknowledged and that never reached this
// node is lost, so choose the survivor with the newest entries: Recovery has them.
//
// The cluster gets a new id, so that nodes of the old one that return are refused. Otherwise two of them would be a
// majority of the old configuration and overrule this node, which follows any leader of a higher term. They must be
// emptied, and join then.
//
// It returns ErrNoCluster when the directory is empty, ErrUnfinished when a restore in it did not end, ErrDiverged,
// ErrDamaged, ErrForeign, an error when this node is not a member of a group, or the error of the disk; until all
// groups were checked it changes nothing. After a crash or a later error Open refuses the directory (ErrUnfinished);
// run RecoverQuorum again.
func RecoverQuorum(c Config) (r Recovery, err error) {
	s, err := newStore(c)
	if err != nil {
		return r, err
	}
	if r, err = s.recoverQuorum(); err != nil {
		return r, errors.Join(err, s.Close())
	}
	if err := s.Close(); err != nil {
		return r, err
	}
	return r, backup.End(s.c.FS, s.c.Dir)
}

func (s *Store) recoverQuorum() (r Recovery, err error) {
	if err := s.claimDir(); err != nil {
		return r, err
	}
	if err := errors.Join(checkDiverged(s.c.FS, s.c.Dir), s.checkRecoverable()); err != nil {
		return r, err
	}
	former := s.identity
	if s.cluster, err = former.ClusterID(); err != nil {
		return r, err
	}
	r.Former = s.cluster
	if err := s.openLog(); err != nil {
		return r, err
	}
	for _, id := range s.c.Groups { // All groups are checked before one is changed.
		g, err := s.surveyGroup(id)
		if err != nil {
			return r, fmt.Errorf("group %d: %w", id, err)
		}
		r.Groups = append(r.Groups, g)
	}
	if err := s.log.Close(); err != nil {
		return r, err
	}
	s.log = nil
	if err := backup.Begin(s.c.FS, s.c.Dir, backup.Recover); err != nil {
		return r, err
	}
	s.cluster = membership.NewCluster()
	r.Cluster = s.cluster
	s.identity = membership.Identity{Cluster: membership.ClusterText(s.cluster), Node: former.Node, Server: former.Server, Groups: former.Groups, Former: append(former.Former, former.Cluster)}
	if err := s.identity.Write(s.c.FS, s.c.Dir); err != nil {
		return r, err
	}
	if err := s.openLog(); err != nil {
		return r, err
	}
	for _, g := range r.Groups {
		if err := s.recoverGroup(g); err != nil {
			return r, fmt.Errorf("group %d: %w", g.Group, err)
		}
	}
	return r, nil
}

// checkRecoverable reads the identity of the directory and refuses one without state, or with an unfinished restore.
func (s *Store) checkRecoverable() (err error) {
	work, err := backup.Unfinished(s.c.FS, s.c.Dir)
	if err != nil {
		return err
	}
	if work == backup.Restore {
		return fmt.Errorf("%w: %s", ErrUnfinished, work)
	}
	if _, err := s.c.FS.Stat(s.c.FS.PathJoin(s.c.Dir, membership.IdentityName)); err != nil {
		return fmt.Errorf("%w: there is nothing to recover: %w", ErrNoCluster, err)
	}
	s.identity, err = membership.LoadIdentity(s.membershipConfig())
	return err
}

// surveyGroup checks the log of a group like a start and returns what it has.
func (s *Store) surveyGroup(id uint16) (r RecoveredGroup, err error) {
	g := &Group{id: id, store: s, log: s.log.Group(id)}
	dir := s.c.FS.PathJoin(s.c.Dir, snapshotsDir, strconv.FormatUint(uint64(id), 10))
	if g.snaps, err = snapshot.Open(s.c.FS, dir, s.c.Logger); err != nil {
		return r, err
	}
	var found startupCheck
	metas, err := g.snaps.List()
	if err != nil {
		return r, err
	}
	var newest uint64
	if len(metas) > 0 {
		newest, found.servers = metas[0].Index, metas[0].Configuration
	}
	if err := g.checkLog(newest, &found); err != nil {
		return r, err
	}
	last, _ := g.log.LastIndex()
	r = RecoveredGroup{Group: id, Last: max(last, newest), Committed: max(g.log.GuardedCommit(), newest)}
	member := false
	for _, server := range found.servers.Servers {
		member = member || server.ID == s.identity.Server
		if server.Suffrage == raft.Voter {
			r.Voters = append(r.Voters, transport.NodeOf(server.ID))
		}
	}
	r.soleVoter = membership.IsSoleVoter(found.servers, s.identity.Server)
	if !member {
		return r, fmt.Errorf("this node, %s, is no member: %v", s.c.NodeID, r.Voters)
	}
	s.c.Logger.Warn("quorum_recovering", slog.String("result", "this node becomes the only voter; what the others acknowledged beyond last is lost"),
		slog.Int("group", int(id)), slog.Uint64("last", r.Last), slog.Uint64("surely_committed", r.Committed), slog.Any("voters", r.Voters))
	return r, nil
}

// recoverGroup appends a configuration with this node only, in a new term. Raft uses the newest configuration in its
// log, committed or not; as the only voter the node elects itself and commits all entries.
func (s *Store) recoverGroup(r RecoveredGroup) error {
	if r.soleVoter {
		return nil
	}
	l := s.log.Group(r.Group)
	term, err := l.GetUint64([]byte(keyTerm))
	if err != nil {
		return err
	}
	if err := l.SetUint64([]byte(keyTerm), term+1); err != nil {
		return err
	}
	return l.StoreLog(&raft.Log{
		Index: r.Last + 1, Term: term + 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(s.soleVoter()),
	})
}
