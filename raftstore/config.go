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

	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// Config is what a node's store is opened with. Zero members take the defaults in brackets.
type Config struct {
	Dir    string // Of all files.
	WALDir string // Of the raft log's write-ahead log, when it has a disk of its own. [inside Dir]
	FS     vfs.FS // [the operating system's]

	NodeID string   // Names this node for ever, at most 238 bytes.
	Groups []uint16 // Ids of the raft groups; fixed when the cluster is founded.
	// AnyGroups is set where Groups are a proposal only: a node without a cluster takes those of the cluster that it joins,
	// or of the founder, or of another founder that insists on its own, and Grouped is told before any state machine is asked
	// for. So machines that would choose by their size come to the same number. Without it founders with other groups end.
	AnyGroups bool
	Grouped   func(groups []uint16)
	Machine   func(group uint16) StateMachine

	// AcceptLoss starts a node whose log is behind its tail guard, or has none, with what is left. Acknowledged commands
	// may be gone. Never on a member of a larger cluster: it would vote without what it promised.
	AcceptLoss bool

	// Seeds are where other nodes may be asked: "HOST:PORT", or "dns:NAME:PORT" for all addresses that NAME has at each
	// attempt. Every node of a cluster may get the same list, its own address included, at every start. A directory with
	// state uses it only to find somebody to ask.
	Seeds []string
	// Expect is how many nodes with empty directories found a cluster together, when nobody they can ask is a member of
	// one already: with more of them, those with the lowest ids. 1 founds alone as soon as every seed has answered or
	// failed once, so give other seeds with it to one node only. 0 never founds and only joins. At most VotersMax.
	Expect int
	// Advertise is the address that peers dial, at most 246 bytes. [the address of the peer port]
	Advertise string
	// About is told to whoever asks this node with Store.About: at most AboutBytesMax bytes that mean nothing here.
	About func() []byte
	// Stream serves the connections that members open with OpenStream, each in a goroutine of its own; a connection is closed
	// when it returns, and when the store closes. [such connections are refused]
	Stream func(c net.Conn)
	// Admits is asked before a node becomes a member, with the state of a group and the node's About, which is empty when its
	// version does not tell. An error keeps the node out and is told to it. [all are admitted]
	Admits func(state Reader, about []byte) error

	// Learner joins without a vote, and stays so.
	Learner bool
	// Noop is a command that changes nothing. It is proposed after each change of members: without it raft takes no
	// snapshot on an idle group whose last entry is a configuration (hashicorp/raft#617).
	Noop []byte
	// JoinSettle is how long a joining node must be close behind its leader before it may vote. [10 s]
	JoinSettle time.Duration

	PeerListen string // Address of the peer port; empty: no peers. ["" ]
	// PeerConnectionsMax bounds the connections that the peer port has accepted, at least PeerConnectionsMin. This node opens about
	// as many to its peers, which are not counted. [48 for each group, at least 1,024, and 576 more]
	PeerConnectionsMax int
	TLS                *TLS // Of the peer port: TLS 1.3, both sides show certificates.
	Insecure           bool // Plain TCP on the peer port, on loopback only.
	// Listen, Dial and Resolve replace the network in tests. [net.Listen, net.Dialer, net.Resolver]
	Listen  func(address string) (net.Listener, error)
	Dial    func(ctx context.Context, address string) (net.Conn, error)
	Resolve func(ctx context.Context, name string) (hosts []string, err error)

	SnapshotInterval  time.Duration // How often to look whether a snapshot is due, up to twice as long. [60 s]
	SnapshotThreshold uint64        // Entries since the last snapshot that make one due. [50,000]
	// TrailingLogs is how many entries are kept behind a snapshot for slow followers. No less than what a healthy follower may be
	// behind when the log is cut: the entries on their way to it, some 400 (three calls of maxAppendEntries), and those that come while
	// a snapshot is taken. With fewer it is sent snapshots again and again, and its process ends. Not checked. [120,000]
	TrailingLogs  uint64
	CommitTimeout time.Duration // An idle leader tells its followers so often what is committed. [25 ms]
	// RPCsInFlight is how many calls with entries may be on their way to one follower: 1 gives pipelining up, for when a
	// follower gets no entries while it hears its leader (hashicorp/raft#612). [transport.RPCsInFlight, the most]
	RPCsInFlight int
	// CheckEntries and CheckInterval say how often replicas compare the digests of their states: after so many entries, or
	// so long after the last time when anything was applied since. [10,000, 10 s]
	CheckEntries  uint64
	CheckInterval time.Duration
	CallLimit     time.Duration // A storage call that takes longer ends the process; at least 100 ms. [5 s]
	CacheBytes    int64         // Block cache of both databases. [64 MB]
	OpenFiles     int           // Table files that each of the two databases keeps open, at least 74. [1,000]
	TailBytes     int           // Decoded newest log entries, all groups together. [64 MB]

	// Reserve is the free space, in bytes, below which the node takes no writes; see Space. ReserveOff: no watch.
	// [a twentieth of the disk, at least 1 GiB and twice the newest snapshot]
	Reserve int64
	// Ballast is the size of a file that is deleted when the disk is nearly full, so that the node can flush and start. It is
	// never more than half of the reserve; negative: none. [64 MiB]
	Ballast       int64
	SpaceInterval time.Duration // How often free space is measured. [1 s]

	// Now is the wall clock, which is compared with those of the other members: a node whose clock is wrong does not lead while another
	// one can. [clocks are not compared]
	Now func() time.Time

	Logger *slog.Logger   // [discards]
	Exit   func(code int) // Ends the process; for tests. [os.Exit]

	unfinished bool // Open in the middle of a restore.
}

// TLS names PEM files: certificate and key of this node, and the authority that signs the nodes of this cluster and nothing
// else. The certificate has the node id among its DNS names, and may be used as server and client. Changed files are
// taken up by the next connection.
type TLS = transport.Files

// PeerConnectionsMin is the least that Config.PeerConnectionsMax may be.
const PeerConnectionsMin = transport.ConnectionsMin

const nodeIDBytesMax = 238 // BOUND: an incarnation of it must fit the 255 bytes of a target in a connection's header.

// AboutBytesMax bounds what Config.About returns.
const AboutBytesMax = 4 << 10

// withDefaults fills in the zero members.
func (c Config) withDefaults() Config {
	c.FS = or(c.FS, vfs.Default)
	c.SnapshotInterval = or(c.SnapshotInterval, 60*time.Second)
	c.SnapshotThreshold = or(c.SnapshotThreshold, 50_000)
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
	fault(c.NodeID == "" || len(c.NodeID) > nodeIDBytesMax, "the node id must have 1 to %d bytes", nodeIDBytesMax)
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
	fault(strings.Contains(c.NodeID, incarnationMark), "the node id %q must not contain %q", c.NodeID, incarnationMark)
	fault(len(c.Seeds) > seedsMax, "%d seeds, at most %d", len(c.Seeds), seedsMax)
	for _, seed := range c.Seeds {
		_, _, err := net.SplitHostPort(strings.TrimPrefix(seed, dnsPrefix))
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

// ownAddress is where peers will dial this node, as far as the configuration says.
func (c Config) ownAddress() string {
	switch {
	case c.Advertise != "":
		return c.Advertise
	case c.PeerListen != "":
		return c.PeerListen
	}
	return "unreachable:" + c.NodeID
}
