package raftstore

import (
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/gavel-ads/gavel/raftstore/fatal"
	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// GroupStatus is the state of one group on this node. Counters count since the start of the process.
type GroupStatus struct {
	Group       uint16
	State       string // Follower, Candidate, Leader or Shutdown.
	Ready       bool
	Term        uint64
	LeaderID    string // Node id of the leader. Empty: unknown.
	FirstIndex  uint64 // Oldest entry of the log; 0: none.
	LastIndex   uint64
	CommitIndex uint64
	Applied     uint64 // Index of the stored state; Raft's own entries do not move it, deferred writes are not in it.
	Digest      uint64 // The machine's hash of the state at Applied.
	LastContact time.Time
	LeaderTerms uint64       // Terms since the start in which this node knew a leader, itself included.
	OldestEntry time.Time    // When a leader created the oldest entry of the log; zero: not known.
	Peers       []PeerStatus // The followers, at a leader; otherwise nil.

	Batches   uint64 // Applied since the start: writes to the state database, and the entries and commands in them.
	Entries   uint64
	Commands  uint64
	ApplyTime time.Duration // Total time spent applying.

	Snapshots          uint64        // Snapshots taken since the start.
	SnapshotsPostponed uint64        // Snapshots that were not taken because the disk had no room.
	Restores           uint64        // Snapshots of leaders, or of this node at the start, that replaced the state.
	SnapshotBytes      uint64        // Size of the last snapshot taken.
	SnapshotTime       time.Duration // Time to write it.

	ProposedEntries  uint64
	ProposedCommands uint64
	ProposedBytes    uint64
	Queued           int                // Commands that wait for an entry.
	Outstanding      int                // Entries that are with Raft or ready to go.
	Refused          uint64             // Commands refused with ErrOverloaded.
	Unknown          uint64             // Commands whose outcome is unknown.
	Propose          proposal.Latencies // Time of an entry from the call of Raft until it was applied here.
}

// Status reports on every group, in the order of Config.Groups. REQUIRES: the store is open.
func (s *Store) Status() []GroupStatus {
	all := make([]GroupStatus, 0, len(s.c.Groups))
	for _, id := range s.c.Groups {
		all = append(all, s.groups[id].Status())
	}
	return all
}

// Status reports on this group.
func (g *Group) Status() GroupStatus {
	_, leader := g.raft.LeaderWithID()
	first, _ := g.log.FirstIndex()
	last, _ := g.log.LastIndex()
	m, b := g.machine, g.batcher.Status()
	m.tryWriteDeferred()
	stored := m.stored.Load()
	return GroupStatus{
		Group: g.id, State: g.raft.State().String(), Ready: g.Ready(), Term: g.raft.CurrentTerm(), LeaderID: transport.NodeOf(leader),
		FirstIndex: first, LastIndex: last, CommitIndex: g.raft.CommitIndex(), Applied: stored.Index, Digest: stored.Digest,
		LastContact: g.raft.LastContact(), LeaderTerms: g.lead.Terms(), OldestEntry: g.oldestEntryTime(), Peers: g.peers(),
		Batches: m.batches.Load(), Entries: m.entries.Load(), Commands: m.commands.Load(), ApplyTime: time.Duration(m.nanos.Load()),
		Snapshots: m.snapshots.Load(), SnapshotsPostponed: m.postponed.Load(), Restores: m.restores.Load(), SnapshotBytes: m.snapBytes.Load(),
		SnapshotTime:    time.Duration(m.snapNanos.Load()),
		ProposedEntries: b.Entries, ProposedCommands: b.Commands, ProposedBytes: b.Bytes,
		Queued: b.Queued, Outstanding: b.Outstanding, Refused: b.Refused, Unknown: b.Unknown, Propose: b.Latency,
	}
}

// Stats are the figures of the whole node, for metrics. Counters count since the start of the process.
type Stats struct {
	Epoch           uint32
	StatesRebuilt   int           // States that this start rebuilt from snapshot and log.
	TmpDeleted      int           // Unfinished snapshots that this start deleted.
	StateChecks     uint64        // Comparisons in which a majority had this node's state.
	StateMismatches uint64        // Comparisons in which some replica differed.
	OldestCall      time.Duration // Age of the oldest storage call that has not returned.
	GuardSyncs      uint64
	ClockOffset     time.Duration // How far this clock is ahead of the median of the members.
	ClockWrong      bool          // ClockOffset is so large that this node leaves leadership to others.

	Log   DBStats
	State DBStats
	Cache CacheStats

	PeerConns         int
	PeerRejectFull    uint64
	PeerRejectHeader  uint64
	PeerRejectCluster uint64
	PeerRejectStream  uint64

	PeerRejectHandshake     uint64 // Random bytes, an old TLS version, or no bytes in time.
	PeerRejectNoCertificate uint64
	PeerRejectAuthority     uint64
	PeerRejectExpired       uint64
	PeerRejectName          uint64 // A valid certificate of a node that is not a member.
	PeerRejectDisplaced     uint64 // Closed in favour of a newer connection before it proved to be a member's.
	PeerRejectAccept        uint64 // Failed calls of accept, for example for lack of file descriptors.

	Forwarded    uint64 // Requests sent to leaders.
	ForwardDials uint64
	ForwardLost  uint64 // Connections to leaders that ended.
}

// CacheStats are figures of the cache of blocks, which both databases share.
type CacheStats struct {
	Hits, Misses int64
	Bytes        int64
	BytesMax     int64
}

// DBStats are figures of one Pebble database.
type DBStats struct {
	DiskBytes        uint64
	WALBytesWritten  uint64 // 0 for the state database, which has no WAL.
	MemTableBytes    uint64
	L0Sublevels      int
	Flushes          int64
	Compactions      int64
	DiskSlow         uint64
	BackgroundErrors uint64
	WriteStalls      uint64
	Pebble           *pebble.Metrics // All other figures, among them the fsync histogram of the log.
}

func (s *Store) cacheStats() CacheStats {
	m := s.cache.Metrics()
	return CacheStats{Hits: m.Hits, Misses: m.Misses, Bytes: m.Size, BytesMax: s.cache.MaxSize()}
}

func dbStats(m *pebble.Metrics, e *fatal.Events) DBStats {
	return DBStats{
		DiskBytes: m.DiskSpaceUsage(), WALBytesWritten: m.WAL.BytesWritten, MemTableBytes: m.MemTable.Size,
		L0Sublevels: int(m.Levels[0].Sublevels), Flushes: m.Flush.Count, Compactions: m.Compact.Count,
		DiskSlow: e.DiskSlow.Load(), BackgroundErrors: e.BackgroundErrors.Load(), WriteStalls: e.WriteStalls.Load(), Pebble: m,
	}
}

// Stats reads the figures. It takes some microseconds, so it fits a scrape but not a request. After Close it is zero.
func (s *Store) Stats() Stats {
	if !s.acquire() {
		return Stats{}
	}
	defer s.release()
	r, forwarded := s.mux.Rejects(), s.forward.Stats()
	return Stats{
		Epoch: s.epoch, ClockOffset: time.Duration(s.clocks.offset.Load()), ClockWrong: s.clocks.wrong.Load(),
		StatesRebuilt: s.rebuilt, TmpDeleted: s.tmpDeleted, OldestCall: s.watchdog.Oldest(),
		StateChecks: s.stateChecks.agreed.Load(), StateMismatches: s.stateChecks.mismatches.Load(), GuardSyncs: s.log.GuardSyncs(),
		Cache: s.cacheStats(),
		Log:   dbStats(s.log.Metrics(), s.log.Events()), State: dbStats(s.state.Metrics(), s.state.Events()),
		PeerConns: s.mux.Conns(), PeerRejectFull: r.Full.Load(), PeerRejectHeader: r.Header.Load(),
		PeerRejectCluster: r.Cluster.Load(), PeerRejectStream: r.Stream.Load(),
		PeerRejectHandshake: r.Handshake.Load(), PeerRejectNoCertificate: r.NoCertificate.Load(),
		PeerRejectAuthority: r.Authority.Load(), PeerRejectExpired: r.Expired.Load(), PeerRejectName: r.Name.Load(),
		PeerRejectDisplaced: r.Displaced.Load(), PeerRejectAccept: r.Accept.Load(),
		Forwarded: forwarded.Requests, ForwardDials: forwarded.Dialed, ForwardLost: forwarded.Lost,
	}
}
