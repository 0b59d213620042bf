package metrics

import "time"

// Node is the state of replication, storage and market at one time, as plain numbers, because this package imports
// neither raft nor Pebble. Totals only grow.
type Node struct {
	Groups    []Group
	Proposals Proposals
	Databases []Database
	Cache     Cache
	Market    Market
	Peers     Peers
	Disk      Disk
	Rebuilt   int // States rebuilt at the last start.
	Reaped    int // Unfinished snapshots deleted at the last start.

	Pacing        Pacing
	AuctionCounts AuctionCounts

	AuditWaiting int // Entries of the audit log whose outcome is not written yet.

	StateChecks, StateMismatches uint64
	OldestCall                   time.Duration // Age of the oldest running storage call.

	Transit []Transit // Only where this node completes transfers.
	Mails   *Mails    // Nil when no mail server is configured.
	Backups Backups
	Archive Archive
	Exports *Exports // Nil when nothing is exported.
	Sinks   []Sink   // Those that are configured.

	Listeners    []Listener
	Certificates []Certificate
	Memory       Memory
	Background   []Background // By kind.
	Turns        Turns

	Ready       bool          // /readyz answers 200.
	ClockOffset time.Duration // How far the clock is ahead of the median of the members.
	ClockWrong  bool
}

// Group is one raft group.
type Group struct {
	ID                           uint16
	Leader, Ready                bool
	Term                         uint64
	First, Last, Commit, Applied uint64 // Log indexes.
	Digest                       uint64 // Digest of the state at Applied.
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
	Overdelivered                int64         // Prices that budgets and wallets could not pay, in micros.
	OldestEntry                  time.Duration // Age of the oldest entry of the log; 0: unknown.
	Propose                      Durations
	Peers                        []Peer // Followers, on the leader.
}

// Durations is a histogram: the number of durations up to each bound in seconds, and the sum of all.
type Durations struct {
	Cumulative map[float64]uint64
	Count      uint64
	Sum        time.Duration
}

// Listener is the state of a listener and its connections.
type Listener struct {
	Name                                string // "auction" or "management".
	Open, Max                           int
	AcceptFailures                      uint64
	Refused, ClosedKeyless, ClosedKeyed uint64
	HandshakeFailures                   uint64
}

// Certificate is the certificate of a listener.
type Certificate struct {
	Listener string // "auction", "management" or "peer".
	NotAfter time.Time
}

// Memory is the memory limit of the process, and the budget of request bodies.
type Memory struct {
	Limit, Bodies, BodiesMax int64
	BodyRefusals             uint64
}

// Peer is a follower as the leader of a group sees it.
type Peer struct {
	Node    string
	Lag     uint64
	Contact time.Duration // Time since its last answer; negative: it never answered.
}

// Transit is the money that is in transit between the wallets and accounts of a marketplace in different groups.
type Transit struct {
	Marketplace uint16
	Transfers   int
	Micros      int64
	Oldest      time.Duration
}

// Backups counts backups that were requested from this node.
type Backups struct {
	Sent, Failed uint64
	Last         time.Time // When the last one was sent to its end; zero for none.
}

// Archive counts parts of the log that were requested from this node for an archive.
type Archive struct {
	Sent, Failed, Gaps uint64
	Last               time.Time // When the last one was sent to its end; zero for none.
}

// Exports is what this node has exported; see the definitions of the metrics.
type Exports struct {
	Rows, Files, Failures uint64
	Lag                   time.Duration
}

// Sink is what this node has sent to a broker; see the definitions of the metrics.
type Sink struct {
	Name                  string // "kafka" or "nats".
	Sent, Failures, Lines uint64
	Lag                   time.Duration
}

// Background is the state of one kind of background requests.
type Background struct {
	Kind             string
	Running, Waiting int
	Refused          uint64
	CPU              time.Duration
}

// Turns is the use of CPUs by management requests, reports among them, and how many were refused for lack of connections.
type Turns struct {
	Waiting int
	CPU     time.Duration
	Refused uint64
}

// Mails counts mails that were queued, and attempts to send them by result.
type Mails struct {
	Queued                uint64
	Sent, Retried, Failed uint64
}

// Peers is the state of the peer port and of forwarding to leaders.
type Peers struct {
	Rejects                []Reject
	Conns                  int
	Forwarded, ForwardLost uint64
}

// Reject is the number of refused connections for a reason.
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

// Proposals are the counts of the write path, of all groups together.
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
	WriteStalls, BackgroundErrors      uint64
}

// Cache is the cache of blocks that the databases share.
type Cache struct {
	Hits, Misses    int64
	Bytes, BytesMax int64
}

// Market is the published view.
type Market struct{ Version uint64 }

// OnScrape sets the function that a scrape calls to read the node's state. Until it is set, the metrics of the node are
// absent.
func (m *Metrics) OnScrape(read func() Node) { m.node.Store(&read) }

// Pacing is the work of the pacing controllers on this node; see the definitions of the metrics.
type Pacing struct {
	Ticks, Changes, Unproposed                              uint64
	TickTime                                                time.Duration
	Campaigns, ByReturn                                     int
	ReportsSent, ReportsFailed, ReportsRefused, ReportsLate uint64
	Deferred, Hours                                         uint64
}

// AuctionCounts is what this node reported of the auctions that campaigns won and lost; see the definitions of the metrics.
type AuctionCounts struct {
	Proposed, Failed, Dropped uint64
	Weight                    uint32
}
