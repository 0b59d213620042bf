package metrics

import "time"

// Node is the state of replication, storage and market at one moment, in plain numbers: this package knows neither raft
// nor Pebble. Totals only grow.
type Node struct {
	Groups    []Group
	Proposals Proposals
	Databases []Database
	Market    Market
	Peers     Peers
	Disk      Disk
	Rebuilt   int // States, at the last start.
	Reaped    int // Unfinished snapshots, at the last start.

	AuditWaiting int // Entries of the audit log whose outcome is not written yet.

	StateChecks, StateMismatches uint64
	OldestCall                   time.Duration // Of storage calls under way.

	Transit []Transit // Where this node carries transfers through.
	Mails   *Mails    // Nil: none are sent.

	Listeners  []Listener
	Memory     Memory
	Background []Background // By kind.

	ClockOffset time.Duration // Ahead of the median of the members.
	ClockWrong  bool
}

// Group is one raft group.
type Group struct {
	ID                           uint16
	Leader, Ready                bool
	Term                         uint64
	First, Last, Commit, Applied uint64 // Log indexes.
	Digest                       uint64 // Of the state at Applied.
	LastContact                  time.Duration
	Snapshots                    uint64
	Staleness                    time.Duration
	Fenced                       uint64
	Queued, Inflight             int
	Entries, Commands, Unknown   uint64
	Apply                        time.Duration
	Installs                     uint64
	SnapshotBytes                uint64
	SnapshotsPutOff              uint64
	SnapshotTime                 time.Duration
	LeaderChanges, Refused       uint64
	OldestEntry                  time.Duration // Age of the oldest entry of the log; 0: not known.
	Propose                      Durations
	Peers                        []Peer // Of a leader.
}

// Durations is a histogram: how many took at most so many seconds, and how long all took together.
type Durations struct {
	Cumulative map[float64]uint64
	Count      uint64
	Sum        time.Duration
}

// Listener is a listener and its connections.
type Listener struct {
	Name                                string // "auction" or "management".
	Open, Max                           int
	AcceptFailures                      uint64
	Refused, ClosedKeyless, ClosedKeyed uint64
}

// Memory is what the process may use, and the budget of request bodies under way.
type Memory struct {
	Limit, Bodies, BodiesMax int64
	BodyRefusals             uint64
}

// Peer is a follower as the leader of a group sees it.
type Peer struct {
	Node    string
	Lag     uint64
	Contact time.Duration // Since its last answer; negative: it never answered.
}

// Transit is what is on its way between the wallets and accounts of a marketplace that lie in different groups.
type Transit struct {
	Marketplace uint16
	Transfers   int
	Micros      int64
	Oldest      time.Duration
}

// Background is what runs of a kind of long requests beside auctions.
type Background struct {
	Kind             string
	Running, Waiting int
	Refused          uint64
	CPU              time.Duration
}

// Mails are letters: those that came up for the first time, and attempts by what became of them.
type Mails struct {
	Queued                uint64
	Sent, Retried, Failed uint64
}

// Peers is the peer port and the way to leaders.
type Peers struct {
	Rejects                []Reject
	Conns                  int
	Forwarded, ForwardLost uint64
}

// Reject is how often peers were refused for a reason.
type Reject struct {
	Why string
	N   uint64
}

// Disk is the disk of the data directory.
type Disk struct {
	Watched       bool
	Free, Reserve uint64
	Low           bool
}

// Proposals is the write path of all groups together.
type Proposals struct {
	Batches, Commands, Bytes uint64
	Fsyncs                   uint64
	FsyncTime                time.Duration
	DiskStalls               uint64
}

// Database is one Pebble database.
type Database struct {
	Name                               string // "raftlog" or "state".
	DiskBytes, WALBytes, MemtableBytes uint64
	L0Files, L0Sublevels               int64
	ReadAmplification                  int64
	Compactions, Flushes               int64
	CacheHits, CacheMisses             int64
	WriteStalls, BackgroundErrors      uint64
}

// Market is the published view.
type Market struct{ Version uint64 }

// OnScrape sets where a scrape reads the node's state. Before it is set, the metrics of the node are absent.
func (m *Metrics) OnScrape(read func() Node) { m.node.Store(&read) }
