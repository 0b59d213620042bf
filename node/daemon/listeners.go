package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/gavel-ads/gavel/node/hotpath"
	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/operator"
)

// bindListeners binds the auction and the management listener, on which the start-up server answers until
// openListeners.
func (n *node) bindListeners(ctx context.Context) error {
	var err error
	if n.auctions, err = bind(ctx, n.cfg.AuctionListen); err != nil {
		return refusedPort("auction", n.cfg.AuctionListen, err)
	}
	n.push("auction port", closeListener(n.auctions))
	if n.manage, err = bind(ctx, n.cfg.ManageListen); err != nil {
		return refusedPort("manage", n.cfg.ManageListen, err)
	}
	n.push("management port", closeListener(n.manage))
	cors := newStartupCORS(n.cfg.CORS.Origins, n.cfg.Management.CORSOrigins)
	n.startup = newStartupServer(n.log, n.screen, n.loaded.Load, n.cfg.PublicURL(n.manage.Addr().String()), cors,
		startupPort{n.auctions, n.certificates.auctionTLS()}, startupPort{n.manage, n.certificates.startupManagementTLS()})
	n.push("waiting", n.startup.shutdown)
	return nil
}

// refusedPort is the error of a listener that cannot be bound, with the flag that chooses another address.
func refusedPort(listener, address string, err error) error {
	advice := "choose another address with --" + listener + "-listen HOST:PORT"
	if errors.Is(err, syscall.EADDRINUSE) {
		advice = "another process listens there, perhaps a node that still runs: stop it, or " + advice
	}
	return fmt.Errorf("%s_listen: %s cannot be opened: %w; %s", listener, address, err, advice)
}

func bind(ctx context.Context, address string) (deadlineListener, error) {
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener), nil //nolint:forcetypeassert // What "tcp" gives.
}

// closeListener returns a function that closes a listener, and ignores that it is closed already.
func closeListener(l net.Listener) func(context.Context) error {
	return func(context.Context) error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

// openListeners stops the start-up server and serves auctions and management on both listeners.
func (n *node) openListeners(ctx context.Context) error {
	if err := n.startup.shutdown(ctx); err != nil {
		return err
	}
	if err := n.startExports(); err != nil {
		return err
	}
	if err := n.startSinks(); err != nil {
		return err
	}
	if err := n.openManagement(ctx); err != nil {
		return err
	}
	n.keepMemory()
	n.openAuctions()
	n.startJobs()
	n.openLocalSocket()
	n.push("leaderships", n.drain)
	n.opened.Store(true)
	return nil
}

// readyzRecent is how long after a request of /readyz a load balancer is taken to use it.
const readyzRecent = time.Minute

// serveUntilUnroutable begins an orderly stop: /readyz answers 503, and both listeners go on serving for drain.delay while
// every answer ends its connection. Load balancers stop sending requests in that time, so none meets a closed port.
func (n *node) serveUntilUnroutable() {
	delay := n.drainDelay(time.Now())
	n.draining.Store(true)
	n.stopping.Store(true)
	if server := n.resources.auction.Load(); server != nil {
		server.Drain()
	}
	n.log.Info("drain_started", slog.Duration("delay", delay), slog.Duration("timeout", DrainTimeout),
		slog.String("second_signal", "ends the process at once"))
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case err := <-n.failed: // Nobody is served any more.
		n.log.Error("listener_failed", slog.Any("err", err))
	}
}

// drainDelay returns how long a node goes on serving that is told to stop now.
func (n *node) drainDelay(now time.Time) time.Duration {
	asked := n.readyzAsked.Load()
	return n.cfg.Drain.Duration(asked != 0 && now.Sub(time.UnixMilli(asked)) < readyzRecent)
}

// answerReadyz returns what readiness returns, and remembers that somebody asked.
func (n *node) answerReadyz() string {
	n.readyzAsked.Store(time.Now().UnixMilli())
	return n.readiness()
}

// drain makes /readyz answer 503 and transfers what this node leads while its listeners are still open: requests that
// arrive until they close reach the new leaders.
func (n *node) drain(ctx context.Context) error {
	n.draining.Store(true)
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	if err := n.raft.Drain(ctx); err != nil {
		n.log.Warn("leadership_transfer_failed", slog.Any("err", err)) // The other nodes elect new leaders after their timeout.
	}
	return nil
}

// transferTimeout bounds the transfer of all leaderships; the rest of DrainTimeout is for open requests.
const transferTimeout = 5 * time.Second

// notes returns warnings about a node that is ready all the same.
func (n *node) notes() []string {
	if s := n.raft.Space(); s.Low {
		return []string{fmt.Sprintf("%d MiB of disk are free, less than the reserve of %d MiB: auctions go on, events and changes are answered with 503 where this node leads",
			s.Free>>20, s.Reserve>>20)}
	}
	return nil
}

// readiness returns why the node should receive no requests; it is empty when the node is ready.
func (n *node) readiness() string {
	if n.draining.Load() {
		return "the node is draining"
	}
	if g, lost := n.cluster.Leaderless(); lost {
		return fmt.Sprintf("group %d has had no leader for too long, or this node is far behind it", g)
	}
	return ""
}

func (n *node) openAuctions() {
	server := hotpath.New(hotpath.Options{
		Core: n.core, Metrics: n.metrics, Log: n.log, ManagementAddr: n.manage.Addr().String(),
		HeadMax: int(n.cfg.Limits.RequestHead), Connections: n.resources.shares.AuctionConns, Bodies: n.resources.bodies,
		WithoutFastPath: !n.cfg.Auction.FastPath,
	})
	n.resources.auction.Store(server)
	serve := func() error { return server.Serve(n.auctions) }
	if secure := n.certificates.auctionTLS(); secure != nil {
		serve = func() error { return server.ServeTLS(n.auctions, secure) }
	}
	go func() { n.listenerEnded("auction listener", serve()) }()
	n.push("auction listener", server.Shutdown)
}

func (n *node) openManagement(ctx context.Context) error {
	n.auditLog = newAuditWriters(n.store, n.log)
	n.push("audit log", func(ctx context.Context) error { n.auditLog.close(ctx); return nil })
	people, err := n.openConsole(ctx)
	if err != nil {
		return err
	}
	management, err := manage.New(manage.Config{
		PublicURL: n.cfg.PublicURL(n.manage.Addr().String()), AuctionURL: n.cfg.AuctionURL(n.auctions.Addr().String()),
		AssetURL: n.cfg.Blob.PublicURL, Version: n.version,
		Runbook: operator.Runbook, Guides: guides(), Development: n.cfg.Webhooks.Development,
		CORSOrigins: n.cfg.Management.CORSOrigins, PageOrigins: n.cfg.CORS.Origins, AgencyAreas: n.cfg.Management.AgencyAreas, TrustedProxies: n.cfg.Server.TrustedProxies,
		RateManagement: n.cfg.Ratelimit.Management, RateCatalog: n.cfg.Ratelimit.Catalog,
		ManagementBody: int64(n.cfg.Limits.ManagementBody), RequestHeadSize: int(n.cfg.Limits.RequestHead),
		Connections: n.resources.shares.ManageConns,
	}, manage.Deps{
		Core: n.core, Bodies: n.resources.bodies, Slots: n.resources.slots, Keys: n.publisher.keys, Console: people, Blobs: n.blobs, Networks: n.offsite().Networks(), ReportJob: n.recordJobReport, Metrics: n.metrics.Handler(), Ready: n.answerReadyz, Draining: n.stopping.Load, Notes: n.notes, Now: time.Now, Log: n.log,
		Count:  n.metrics.ManagementRequest,
		Access: n.access, Trace: n.traceRequest(),
		Audit:  n.auditLog.add,
		Tenant: n.store.Tenant,
		Open:   n.openSession, Background: n.background,

		Operator: operator.Handler(operations{n}, n.cfg.PublicURL(n.manage.Addr().String())), OperatorRoutes: operator.Routes(),
	})
	if err != nil {
		return err
	}
	server := management.HTTP()
	listener, bounded := management.Bounded(n.manage, n.certificates.managementTLS())
	n.resources.management.Store(bounded)
	go func() { n.listenerEnded("management listener", server.Serve(listener)) }()
	n.push("management listener", func(ctx context.Context) error { return shutdownServer(ctx, server) })
	n.orderCertificates(ctx)
	return nil
}

// guides returns the guides for the management listener, which does not import the operator's package.
func guides() (all []manage.Guide) {
	for _, g := range operator.Guides() {
		all = append(all, manage.Guide(g))
	}
	return all
}

// shutdownServer waits for the open requests of a server. When ctx ends before them, it closes their connections and
// does not wait longer: a client that reads a backup slowly would otherwise keep the storage from being closed.
func shutdownServer(ctx context.Context, server *http.Server) error {
	err := server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	return err
}

// listenerEnded is called when a listener's loop returns. It reports the error as the reason why the node cannot
// continue, unless the listener was shut down.
func (n *node) listenerEnded(what string, err error) {
	if err == nil || errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return
	}
	n.failed <- fmt.Errorf("%s: %w", what, err)
}

// serve prints the banner and waits for the end of the context or the failure of a listener.
func (n *node) serve(ctx context.Context, o Options) error {
	if o.Demo != nil {
		return n.demo(ctx, o)
	}
	b, err := n.banner()
	if err != nil {
		return err
	}
	if n.firstKeys != nil && n.cfg.KeysFile == "" {
		b.next = firstVendor(b.manageURL, n.firstKeys.Management)
	}
	b.write(o.Out)
	n.screen.release()
	return n.waitForEnd(ctx)
}

func (n *node) banner() (banner, error) {
	b := banner{version: n.version, dataDir: n.cfg.DataDir, keys: n.firstKeys, keysFile: n.cfg.KeysFile, keysShown: n.keysShown}
	b.auctionURL = n.cfg.LocalAuctionURL(n.auctions.Addr().String())
	b.manageURL = n.cfg.LocalManageURL(n.manage.Addr().String())
	b.next = "gavel health " + b.manageURL
	setup, err := n.console.SetupLink()
	b.consoleURL = cmp.Or(setup, n.cfg.PublicURL(n.manage.Addr().String())+"/")
	return b, err
}

func (n *node) waitForEnd(ctx context.Context) error {
	select {
	case err := <-n.failed:
		return err
	case <-ctx.Done():
		n.serveUntilUnroutable()
		return nil
	}
}
