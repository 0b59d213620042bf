package raftstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore/diskspace"
	"github.com/gavel-ads/gavel/raftstore/membership"
	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// Config holds the settings of a node's store. A zero field takes the default in square brackets.
type Config struct {
	Dir    string // The data directory.
	WALDir string // Directory of the Raft log's write-ahead log, for a disk of its own. [inside Dir]
	FS     vfs.FS // [the operating system's file system]

	NodeID string   // The permanent name of this node, 1 to 238 bytes without "~".
	Groups []uint16 // Ids of the Raft groups, each at most pebblelog.MaxGroup; fixed when the cluster is founded.
	// AnyGroups makes Groups a proposal: a node without a cluster then adopts the groups of the cluster that it joins,
	// of the founder, or of another founder that insists on its own. GroupsChosen is called with the result before any
	// state machine is asked for. So machines that would choose the number of groups by their size come to the same
	// one. Without AnyGroups, founders with different groups end with ErrForeign.
	AnyGroups    bool
	GroupsChosen func(groups []uint16)
	Machine      func(group uint16) StateMachine

	// AcceptLoss starts a node whose log is behind its tail guard, or whose guard is missing, with what is left.
	// Acknowledged commands may be lost. It must never be set on a member of a larger cluster: that node would vote
	// without what it promised.
	AcceptLoss bool

	// Seeds are the addresses at which other nodes may be asked: "HOST:PORT", or "dns:NAME:PORT" for all addresses that
	// NAME has at each attempt; at most 64. Every node of a cluster may get the same list, its own address included, at
	// every start. A directory with state uses it only to find a member to ask.
	Seeds []string
	// Expect is the number of nodes with empty directories that found a cluster together when no node they can ask is a
	// member of one already. If there are more, those with the lowest ids found it. 1 founds a cluster of one as soon
	// as every seed has answered or failed once, so give other seeds with it to one node only. 0 never founds and only
	// joins. At most VotersMax.
	Expect int
	// Advertise is the address that peers dial, at most 246 bytes. [the address of the peer port]
	Advertise string
	// NodeInfo returns what Store.NodeInfo answers for this node to others: at most NodeInfoBytesMax bytes that
	// raftstore does not interpret.
	NodeInfo func() []byte
	// Stream serves a connection that a member opened with OpenStream, in a goroutine of its own. The connection is
	// closed when Stream returns, and when the store closes. [such connections are refused]
	Stream func(c net.Conn)
	// Report receives what a member sent with SendReport, several at the same time. raftstore does not interpret it. An
	// error is sent to the member. [reports are refused]
	Report func(ctx context.Context, from string, report []byte) error
	// CheckJoin is called before a node becomes a member, with the state of a group and the node's NodeInfo, which is
	// empty when its version does not send any. An error keeps the node out and is sent to it, so that a version that
	// could not apply the log does not join. [every node may join]
	CheckJoin func(state Reader, about []byte) error

	// Learner makes the node join without a vote and stay without one.
	Learner bool
	// Noop is a command that changes nothing. It is proposed after each change of members: without it Raft takes no
	// snapshot on an idle group whose last entry is a configuration (hashicorp/raft#617). [none is proposed]
	Noop []byte
	// JoinSettle is how long a joining node must stay close behind its leader before it becomes a voter. [10 s]
	JoinSettle time.Duration

	PeerListen string // Address of the peer port. Empty: the node has no peers.
	// PeerConnectionsMax bounds the connections that the peer port has accepted, at least PeerConnectionsMin. This node
	// opens about as many to its peers, which are not counted. [48 for each group, at least 1,024, and 576 more]
	PeerConnectionsMax int
	TLS                *TLS // TLS 1.3 on the peer port; both sides present certificates.
	Insecure           bool // Plain TCP on the peer port; only on a loopback address.
	// Listen, Dial and Resolve replace the network in tests. [net.Listen, net.Dialer, net.Resolver]
	Listen  func(address string) (net.Listener, error)
	Dial    func(ctx context.Context, address string) (net.Conn, error)
	Resolve func(ctx context.Context, name string) (hosts []string, err error)

	SnapshotInterval  time.Duration // Time between two checks whether a snapshot is due; Raft adds up to as much. [60 s]
	SnapshotThreshold uint64        // Number of entries since the last snapshot that make one due. [50,000]
	// SnapshotBytes is the size of the entries since the last snapshot, in bytes, that makes one due, if that is at least
	// the size of the last snapshot. [256 MiB]
	SnapshotBytes int64
	// TrailingLogs is the number of entries kept behind a snapshot for slow followers. It must not be less than what a
	// healthy follower may be behind when the log is truncated: the entries on their way to it, some 400 (three calls
	// of maxAppendEntries), and those that arrive while a snapshot is taken. With fewer, a follower is sent snapshots
	// again and again, and its process ends. The store does not check this. [120,000]
	TrailingLogs  uint64
	CommitTimeout time.Duration // Time after which an idle leader sends its followers the commit index. [25 ms]
	// RPCsInFlight is how many calls with entries may be on their way to one follower, 1 to transport.RPCsInFlight. 1
	// turns pipelining off, for a follower that receives no entries although its leader's heartbeats arrive
	// (hashicorp/raft#612). [transport.RPCsInFlight]
	RPCsInFlight int
	// CheckEntries and CheckInterval are how often replicas compare the digests of their states: after this many
	// entries, or this long after the last comparison when anything was applied since. [10,000, 10 s]
	CheckEntries  uint64
	CheckInterval time.Duration
	CallLimit     time.Duration // A storage call that takes longer ends the process; at least 100 ms. [5 s]
	CacheBytes    int64         // Block cache shared by both databases. [64 MiB]
	OpenFiles     int           // Table files that each of the two databases keeps open, at least 74. [1,000]
	TailBytes     int           // Cache of the newest decoded log entries, all groups together. [64 MiB]

	// Reserve is the free space, in bytes, below which the node takes no writes; see diskspace.Status. ReserveOff turns
	// the watch off. [a twentieth of the disk, at least 1 GiB and twice the newest snapshot]
	Reserve int64
	// Ballast is the size, in bytes, of a file that is deleted when the disk is nearly full, so that the node can flush
	// and start. It is never more than half of the reserve. Negative: no such file. [64 MiB]
	Ballast       int64
	SpaceInterval time.Duration // Time between two measurements of free space. [1 s]

	// Now is the wall clock, which is compared with the clocks of the other members: a node whose clock is wrong does
	// not lead while another one can. [clocks are not compared]
	Now func() time.Time

	Logger *slog.Logger   // [discards all lines]
	Exit   func(code int) // Ends the process; for tests. [os.Exit]

	unfinished bool // Opens a directory in the middle of a restore.
}

// TLS names PEM files: certificate and key of this node, and the authority that signs the nodes of this cluster and
// nothing else. The certificate has the node id among its DNS names and is valid for server and client use. The next
// handshake uses changed files.
type TLS = transport.Files

// PeerConnectionsMin is the lowest allowed value of Config.PeerConnectionsMax.
const PeerConnectionsMin = transport.ConnectionsMin

// ReserveOff as Config.Reserve turns the watch over free space off, the ballast file included.
const ReserveOff = diskspace.ReserveOff

const ballastBytes = 64 << 20 // BOUND: default size of the ballast file.

// ReportBytesMax bounds a report (Store.SendReport), in bytes: so that the question that carries it in base64 has at most
// control.BytesMax.
const ReportBytesMax = 48_000

// NodeInfoBytesMax bounds what Config.NodeInfo returns, in bytes.
const NodeInfoBytesMax = 4 << 10

// withDefaults fills in the zero members.
func (c Config) withDefaults() Config {
	c.FS = or(c.FS, vfs.Default)
	c.SnapshotInterval = or(c.SnapshotInterval, 60*time.Second)
	c.SnapshotThreshold = or(c.SnapshotThreshold, 50_000)
	c.SnapshotBytes = or(c.SnapshotBytes, 256<<20)
	c.TrailingLogs = or(c.TrailingLogs, 120_000)
	c.RPCsInFlight = or(c.RPCsInFlight, transport.RPCsInFlight)
	c.CheckEntries = or(c.CheckEntries, 10_000)
	c.CheckInterval = or(c.CheckInterval, 10*time.Second)
	c.CommitTimeout = or(c.CommitTimeout, 25*time.Millisecond)
	c.CallLimit = or(c.CallLimit, 5*time.Second)
	c.JoinSettle = or(c.JoinSettle, 10*time.Second)
	c.CacheBytes = or(c.CacheBytes, 64<<20)
	c.OpenFiles = or(c.OpenFiles, 1000)
	c.TailBytes = or(c.TailBytes, 64<<20)
	c.Ballast = or(c.Ballast, ballastBytes)
	c.SpaceInterval = or(c.SpaceInterval, time.Second)
	c.Logger = or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Listen == nil {
		c.Listen = func(address string) (net.Listener, error) { return net.Listen("tcp", address) }
	}
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		}
	}
	if c.Resolve == nil {
		c.Resolve = net.DefaultResolver.LookupHost
	}
	return c
}

func or[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// validate reports every fault at once.
func (c Config) validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf("raftstore: "+format, args...))
		}
	}
	fault(c.Dir == "", "no directory given")
	fault(c.NodeID == "" || len(c.NodeID) > transport.NodeIDBytesMax, "the node id must have 1 to %d bytes", transport.NodeIDBytesMax)
	fault(len(c.Advertise) > transport.AddressBytesMax, "the address %q, which peers dial, has %d bytes, at most %d",
		c.Advertise, len(c.Advertise), transport.AddressBytesMax)
	fault(c.Machine == nil, "no state machine given")
	fault(len(c.Groups) == 0, "no groups given")
	groups := slices.Sorted(slices.Values(c.Groups))
	fault(len(slices.Compact(groups)) != len(c.Groups), "group ids repeat: %v", c.Groups)
	fault(len(c.Groups) > 0 && slices.Max(c.Groups) > pebblelog.MaxGroup, "group ids end at %d", pebblelog.MaxGroup)
	fault(c.PeerListen != "" && !c.Insecure && c.TLS == nil, "the peer port needs certificates, or plain TCP on loopback with Insecure")
	fault(c.Insecure && c.TLS != nil, "the peer port has certificates and is Insecure: choose one")
	fault(c.PeerListen != "" && c.TLS == nil && !loopback(c.PeerListen), "plain TCP is allowed on loopback only, not on %s", c.PeerListen)
	fault(strings.Contains(c.NodeID, transport.IncarnationMark), "the node id %q must not contain %q", c.NodeID, transport.IncarnationMark)
	fault(len(c.Seeds) > membership.SeedsMax, "%d seeds, at most %d", len(c.Seeds), membership.SeedsMax)
	for _, seed := range c.Seeds {
		_, _, err := net.SplitHostPort(strings.TrimPrefix(seed, membership.DNSPrefix))
		fault(err != nil, "the seed %q must be HOST:PORT or dns:NAME:PORT", seed)
	}
	fault(c.Expect < 0 || c.Expect > VotersMax, "%d nodes cannot found a cluster: 0 to %d", c.Expect, VotersMax)
	fault(len(c.Seeds) > 0 && c.PeerListen == "", "seeds need a peer port")
	fault(c.Expect > 1 && len(c.Seeds) == 0, "%d nodes cannot found a cluster without seeds", c.Expect)
	fault(c.PeerConnectionsMax != 0 && c.PeerConnectionsMax < PeerConnectionsMin, "a bound of %d connections on the peer port is too small: at least %d",
		c.PeerConnectionsMax, PeerConnectionsMin)
	fault(c.CallLimit < 100*time.Millisecond, "a storage call limit of %s would end a healthy process", c.CallLimit)
	fault(c.RPCsInFlight < 1 || c.RPCsInFlight > transport.RPCsInFlight, "%d calls on their way to a follower: 1 to %d", c.RPCsInFlight, transport.RPCsInFlight)
	fault(c.Reserve < ReserveOff, "a reserve of %d bytes is not possible", c.Reserve)
	fault(c.CheckInterval < 0, "states cannot be compared every %s", c.CheckInterval)
	fault(c.SpaceInterval < 0, "free space cannot be measured every %s", c.SpaceInterval)
	return errors.Join(faults...)
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// noAddress begins what stands for the address of a node without a peer listener; its id follows.
const noAddress = "unreachable:"

// Dialable reports whether the address of a member is one that peers can dial: that of a node without a peer listener is
// not.
func Dialable(address string) bool { return address != "" && !strings.HasPrefix(address, noAddress) }

// ownAddress is the address at which peers will dial this node, as far as the configuration says.
func (c Config) ownAddress() string {
	switch {
	case c.Advertise != "":
		return c.Advertise
	case c.PeerListen != "":
		return c.PeerListen
	}
	return noAddress + c.NodeID
}
