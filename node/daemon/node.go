package daemon

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/console"
	"github.com/gavel-ads/gavel/node/demo"
	"github.com/gavel-ads/gavel/node/export"
	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/logtail"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/sinks"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/node/tally"
	"github.com/gavel-ads/gavel/node/tracing"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

// node is a running node: its parts, and how to stop those that were started.
type node struct {
	cfg          config.Config
	log          *slog.Logger
	tail         *logtail.Tail // nil in a node that does not keep its log.
	screen       *screen       // nil without a terminal.
	version      string
	demoOptions  *DemoOptions    // nil: the market is not the demo's.
	demoPast     *demo.Performed // What happened in the history of the market that this start has written; nil: it wrote none.
	clock        *pastClock      // nil: the wall clock. Only the node that writes the history of a demo has another one.
	out          io.Writer       // Receives the banner.
	settings     []config.Effective
	resources    resources
	topology     ids.Topology
	publisher    *publisher
	raft         *raftstore.Store
	machines     sync.Map // The newest *shard.Machine of each group, by number.
	replicaAges  *cluster.ReplicaAges
	cluster      *cluster.Cluster
	store        *store.Store
	blobs        blob.Store
	sharedBlobs  *blob.Shared // The same store as blobs, when several nodes keep files in their own directories; otherwise nil.
	metrics      *metrics.Metrics
	tally        *tally.Tally     // nil until the groups are ready.
	exporter     *export.Exporter // nil when nothing is exported.
	sinks        []*sinks.Sink    // Of the brokers that are configured.
	core         *serving.Core
	access       *serving.AccessLog
	tracer       *tracing.Tracer   // nil without a collector.
	background   *limits.Scheduler // Runs reports, explanations and forecasts.
	auctions     deadlineListener
	manage       deadlineListener
	certificates certificates
	manager      serviceManager
	startup      *startupServer // Answers until the listeners serve.
	loaded       atomic.Int64   // Campaigns that were published since the start.
	firstKeys    *FirstKeys
	keysShown    bool        // They were printed before the banner.
	opened       atomic.Bool // The listeners serve.
	draining     atomic.Bool
	stopping     atomic.Bool                           // The process was told to end: every answer ends its connection.
	readyzAsked  atomic.Int64                          // When /readyz was asked last, in Unix milliseconds; 0: never.
	transit      atomic.Pointer[[]jobs.TransitSummary] // Result of the newest check of transfers.
	mailCounts   mailCounts
	backupCounts backupCounts
	logCounts    logCounts
	failed       chan error // Receives the error of a listener that ended without being stopped.
	started      []closer
	auditLog     auditWriters     // None until the management listener is open.
	console      *console.Service // nil until the management listener is open.
}

// start builds a node from the disk upwards: a listener serves only when everything behind it is ready. The ports are
// bound first, for two reasons: until the node serves they answer that it is starting, which may take as long as its
// peers do; and a cluster shows its first keys once, so a start must not fail on a taken port after that. When a start
// fails, start returns the node too, so that the caller stops the parts that were started.
func start(ctx context.Context, cfg config.Config, o Options, log *slog.Logger, screen *screen) (*node, error) {
	n := &node{
		manager: newServiceManager(o.Variable, os.Getpid(), log), cfg: cfg, log: log, tail: o.tail, screen: screen, version: o.Version,
		demoOptions: o.Demo, out: o.Out, settings: o.Settings, failed: make(chan error, 3), // One for each listener and the socket.
	}
	for _, step := range []func(context.Context) error{
		n.deriveLimits, n.loadCertificates, n.openTracing, n.bindListeners, n.announce, n.restrictDirectories, n.openBlobs,
		n.writeHistory, n.openState, n.bootstrap, n.startCounting, n.buildCore, n.openListeners,
	} {
		if err := step(ctx); err != nil {
			return n, err
		}
	}
	return n, nil
}

// now is the clock of what this node proposes.
func (n *node) now() time.Time {
	if n.clock != nil {
		return n.clock.now()
	}
	return time.Now()
}

// push records how to stop a part that has just been started.
func (n *node) push(name string, stop func(context.Context) error) {
	n.started = append(n.started, closer{name, stop})
}

// openState opens the disk, loads its state into memory, and waits until the groups can take commands.
func (n *node) openState(ctx context.Context) error {
	topology, err := topologyOf(n.cfg)
	if err != nil {
		return err
	}
	n.setTopology(topology)
	view := market.New(randomSeed())
	n.publisher = &publisher{
		Market: view, pacer: n.newPacer(view), keys: auth.NewTable(),
		assetURL: cmp.Or(n.cfg.Blob.PublicURL, n.cfg.PublicURL(n.cfg.ManageListen)), // A listener address with port 0 gives a wrong URL; only tests use that.
		onBadKey: func(err error) { n.log.Error("api_key_unreadable", slog.Any("err", err)) },
		loaded:   &n.loaded,
	}
	groups := make([]uint16, 0, n.topology.DataGroups+1)
	for _, g := range n.topology.Groups() {
		groups = append(groups, uint16(g))
	}
	if len(n.cfg.Join) > 0 {
		n.startup.setReason("opening the data directory and connecting to peers: " + strings.Join(n.cfg.Join, ", "))
	}
	n.raft, err = raftstore.OpenContext(ctx, n.raftConfig(groups))
	if err != nil {
		return fmt.Errorf("open %s: %w", n.cfg.DataDir, err)
	}
	n.push("storage", func(context.Context) error { return n.raft.Close() })
	n.cluster = cluster.New(n.raft, cluster.Options{
		Topology: n.topology, Node: n.cfg.NodeID, ReplicaAges: n.replicaAges, Now: n.now, Periods: n.periods, Log: n.log, Levels: n.levels(),
		OnLead: func(ctx context.Context, g ids.Group) {
			if g != n.topology.Meta() {
				return
			}
			if err := n.announceSettings(ctx); err != nil && ctx.Err() == nil {
				n.log.Warn("settings_announcement_failed", slog.Any("err", err))
			}
		},
	})
	n.publisher.keys.RequireCurrent(n.cluster.KeysCurrent)
	n.store = &store.Store{
		AssetURL: n.publisher.assetURL, Groups: n.proposers(), Now: n.now, View: n.publisher.View, SendsMail: n.cfg.SMTP.Server != "", InvitationTTL: n.cfg.Invitations.TTL,
		Usage: n.publisher.Usage, AssetBytes: &n.publisher.bytes, Limits: limitsOf(&n.cfg.Quotas),
	}
	return nil
}

// openBlobs opens the store of uploaded files. A bucket is contacted only when it is used: while it does not answer,
// auctions continue and uploads are refused.
func (n *node) openBlobs(context.Context) error {
	c := n.cfg.Blob
	if c.Driver == "s3" {
		bucket, err := blob.OpenS3(blob.S3Config{
			Endpoint: c.Endpoint, Region: c.Region, Bucket: c.Bucket, Prefix: c.Prefix,
			AccessKey: c.AccessKey.Reveal(), SecretKey: c.SecretKey.Reveal(), Insecure: c.Insecure,
		})
		n.blobs = bucket
		return err
	}
	dir, err := blob.OpenLocal(n.cfg.BlobDir())
	if err != nil {
		return err
	}
	n.blobs = dir
	if n.cfg.Clustered() {
		n.sharedBlobs = blob.NewShared(dir, blobPeers{n}, n.log)
		n.blobs = n.sharedBlobs
	}
	n.push("blobs", func(context.Context) error { return dir.Close() })
	return nil
}

// commitInterval is how often an idle leader sends its commit index to its followers; raft waits up to twice as long.
// It bounds how long a change waits on followers when no other change follows it: a paused campaign stops on them 10 to
// 20 ms after it stopped on the leader.
const commitInterval = 10 * time.Millisecond

// raftConfig converts the configuration of the node to that of the replication.
func (n *node) raftConfig(groups []uint16) raftstore.Config {
	c := raftstore.Config{
		Dir: n.cfg.DataDir, NodeID: n.cfg.NodeID, Groups: groups, Logger: n.log,
		AnyGroups: n.cfg.Groups == 0, GroupsChosen: func(groups []uint16) { n.setTopology(topologyFrom(groups)) },
		Seeds: n.cfg.Join, Expect: n.cfg.Founders(), Advertise: n.cfg.PeerAdvertise, Learner: n.cfg.Learner,
		Report:   func(_ context.Context, _ string, report []byte) error { return n.publisher.pacer.Receive(report) },
		NodeInfo: n.nodeInfo, CheckJoin: mayJoin, Noop: command.AppendNoop(nil, 0), Insecure: n.cfg.PeerInsecure, Now: time.Now,
		Machine: func(g uint16) raftstore.StateMachine {
			m := shard.New(ids.Group(g), ids.Group(g) == n.topology.Meta(), n.publisher)
			n.machines.Store(g, m)
			return n.replicaAges.Machine(ids.Group(g), m)
		},
		SnapshotInterval: n.cfg.Raft.SnapshotInterval, SnapshotThreshold: uint64(n.cfg.Raft.SnapshotThreshold),
		TrailingLogs: uint64(n.cfg.Raft.TrailingLogs), CallLimit: n.cfg.Raft.Watchdog,
		CommitTimeout: commitInterval, RPCsInFlight: n.cfg.Raft.RpcsInFlight, OpenFiles: n.resources.shares.DatabaseFiles,
		CacheBytes:         n.resources.shares.Cache,
		PeerConnectionsMax: n.resources.shares.PeerConns,
	}
	if n.sharedBlobs != nil {
		c.Stream = n.sharedBlobs.Serve
	}
	c.Reserve, c.Ballast = int64(n.cfg.Disk.Reserve), int64(n.cfg.Disk.Ballast)
	if c.Ballast == 0 {
		c.Ballast = -1 // raftstore takes 0 as its default and -1 as none.
	}
	if n.cfg.PeerTLS() {
		c.TLS = &raftstore.TLS{Certificate: n.cfg.PeerCertificate, Key: n.cfg.PeerKey, Authority: n.cfg.PeerAuthority}
	}
	if n.cfg.Clustered() { // A node without peers does not listen on the peer port.
		c.PeerListen = n.cfg.PeerListen
	}
	return c
}

// setTopology sets the number of groups. With `groups: 0` it is called again when the node has found its cluster: the
// number derived from its own CPUs is a proposal, and all nodes of a cluster use the number of the node that created
// it.
func (n *node) setTopology(t ids.Topology) {
	n.topology = t
	n.replicaAges = cluster.NewReplicaAges(t, n.cfg.Staleness, time.Now)
}

// topologyOf returns the topology that the data directory was created with, or for an empty directory the configured
// one.
func topologyOf(cfg config.Config) (ids.Topology, error) {
	groups, err := raftstore.FoundedGroups(vfs.Default, cfg.DataDir)
	if err != nil || len(groups) > 0 {
		return topologyFrom(groups), err
	}
	return ids.Topology{DataGroups: cfg.DataGroups(cpus())}, nil
}

// topologyFrom returns the topology with these groups: a single group holds both meta and data.
func topologyFrom(groups []uint16) ids.Topology {
	return ids.Topology{DataGroups: max(1, len(groups)-1)}
}

// randomSeed returns the key of this process's hash tables, so that nobody outside can construct colliding keys.
func randomSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // It never returns an error; it ends the process instead.
	return binary.LittleEndian.Uint64(b[:])
}

// periods returns the current budget periods of every marketplace.
func (n *node) periods(now time.Time) []command.Periods {
	var all []command.Periods
	view := n.publisher.View()
	for ordinal := uint16(1); view.Marketplace(ordinal) != nil; ordinal++ {
		all = append(all, cluster.PeriodsAt(ordinal, now, store.Zone(view.Marketplace(ordinal).TimeZone)))
	}
	return all
}

// buildCore creates the core of /v2 that both listeners share.
func (n *node) buildCore(context.Context) error {
	n.metrics = serving.NewMetrics()
	n.metrics.SetBuild(n.version)
	bounds := limits.SchedulerDefaults
	bounds.PerMarketplace, bounds.PerNode, bounds.Budget = n.cfg.Background.PerMarketplace, n.cfg.Background.PerNode, n.cfg.Background.CPUPerMinute
	n.background = limits.NewScheduler(limits.SchedulerConfig{SchedulerLimits: bounds, Traffic: n.metrics.Answered, CPUs: cpus(), Share: float64(n.cfg.Background.CPUPercent) / 100})
	n.metrics.OnScrape(n.scrape)
	n.access = serving.NewAccessLog(n.cfg.Log.Access, n.cfg.Log.Slow, n.log)
	n.core = serving.New(serving.Deps{
		Access: n.access,
		Keys:   n.publisher.keys, DialogToken: n.isDialogToken,
		View: n.publisher.View, Topology: n.topology, Proposer: n.proposers(),
		Keyring: func() *bidid.Keyring {
			if s := n.publisher.secrets.Load(); s != nil {
				return s.keyring
			}
			return nil
		},
		Secret: func() *[32]byte {
			if s := n.publisher.secrets.Load(); s != nil {
				return &s.Duplicate
			}
			return nil
		},
		Location:         n.zones().location,
		CatalogPrice:     n.store.CatalogPrice,
		Level:            n.cluster.Level,
		ExternalCampaign: n.publisher.externals.resolve,
		Stale:            n.replicaAges.Stale,
		Frequency:        n.publisher,
		Metrics:          n.metrics, Log: n.log,
		Node: nodeNumber(n.cfg.NodeID), Epoch: n.raft.Epoch(),
		PublicURL:      n.cfg.PublicURL(n.cfg.ManageListen),
		CORSOrigins:    n.cfg.CORS.Origins,
		AuctionBodyMax: int(n.cfg.Limits.AuctionBody), EventBodyMax: int(n.cfg.Limits.EventBody),
		ExplainEvery: n.cfg.Explain.Sample, Suppose: n.publisher.WhatIfView, Started: time.Now(),
	})
	return nil
}

// isDialogToken reports whether a credential is a valid token of the vendors' dialog.
func (n *node) isDialogToken(authorization string, at time.Time) bool {
	if n.publisher.secrets.Load() == nil {
		return false // No token exists before the cluster's first start has completed.
	}
	_, ok := n.publisher.keys.CheckVendorToken(n.store.Tenant(store.OperatorMarketplace).CursorKey, authorization, at)
	return ok
}

// nodeNumber returns the number of this node in tokens. Tokens are unique by (node, start, auction), so the number only
// has to differ between the nodes of one cluster.
func nodeNumber(id string) uint16 {
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint16(sum[:])
}
