// Package tally reports how many auctions each campaign has won and lost on this node, by reason, to the groups of the
// campaigns, which add the counts to the reports (shard/auctions.go).
//
// Auctions count in memory (market.View.AddAuctionWon and AddAuctionLost). At every full ten seconds a Tally takes the
// counts, assigns them to the local hour that contains the ten seconds, and proposes them to the log of each group. A
// proposal whose outcome is unknown is repeated with the same number until the outcome is known, and its number makes it
// count once. So a failure of a leader or of the network delays counts and changes none. A process that is killed takes
// along what it had not proposed, the auctions of ten seconds and of proposals under way; one that stops in order
// proposes them first.
//
// In the same way, but without numbers because repeats change nothing, it proposes which users take part in the
// measurements of campaigns with a holdout (market.View.Enrol).
//
// To find the losers of an auction costs a tenth of the auction. So a node that runs more auctions than
// auctionsPerSecond looks at the losers of some requests, chosen at random, and counts each loser as many times as it
// leaves out requests. Reports say how many lost auctions were looked at.
package tally

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

const (
	// interval is the time between two reports.
	interval = 10 * time.Second
	// auctionsPerSecond is the number of auctions a second up to which all losers are counted. BOUND: at two
	// microseconds for each, counting takes 1 % of one core at most.
	auctionsPerSecond = 4_096
	// proposeTimeout bounds the wait for a proposal, and stopTimeout the proposals at an orderly stop.
	proposeTimeout, stopTimeout = 5 * time.Second, 2 * time.Second
)

// Groups are the Raft groups of this node; package cluster implements it.
type Groups interface {
	Groups() []ids.Group
	Level(g ids.Group) command.Level
	// Propose proposes a command on whichever node leads the group. An error means that it is not known whether the command
	// was or will be applied.
	Propose(ctx context.Context, g ids.Group, cmd []byte) ([]byte, error)
}

// Config is what a Tally needs. All fields are required.
type Config struct {
	Market *market.Market
	Groups Groups
	Node   uint16 // The node's number, as in resolvedBidIds.
	Start  uint32 // The number of this start of the node, as in resolvedBidIds.
	Now    func() time.Time
	Zone   func(marketplace uint16) *time.Location // Nil for an unknown marketplace.
	Log    *slog.Logger
}

// Tally reports the auctions of this node. Start starts it.
type Tally struct {
	c        Config
	reports  map[ids.Group]*report
	traffic  []market.Traffic  // Reused.
	enrolled []market.Enrolled // Reused.
	auctions uint64            // Of the node, when they were read last.
	stop     context.CancelFunc
	running  sync.WaitGroup
	stats    stats
}

// Stats counts what a Tally has done.
type Stats struct {
	Proposed uint64 // Commands that were applied.
	Failed   uint64 // Proposals without an answer, or that were refused; they are repeated.
	Dropped  uint64 // Campaigns and hours whose counts, and users whose enrolments, were given up.
	Weight   uint32 // One of so many requests is looked at for its losers.
}

type stats struct {
	proposed, failed, dropped atomic.Uint64
	weight                    atomic.Uint32
}

// New returns a Tally that counts losers and reports only when Report is called.
func New(c Config) *Tally {
	t := &Tally{c: c, reports: map[ids.Group]*report{}}
	for _, g := range c.Groups.Groups() {
		t.reports[g] = newReport(t, g)
	}
	t.setWeight(0)
	return t
}

// Start starts to count losers and to report.
func Start(ctx context.Context, c Config) *Tally {
	t := New(c)
	ctx, t.stop = context.WithCancel(ctx)
	t.running.Go(func() { t.run(ctx) })
	for _, r := range t.reports {
		t.running.Go(func() { r.run(ctx) })
	}
	return t
}

// Report reports what was counted since the last call, in the local hour that contains the second before now. It returns
// an error when a group has not counted all of it; the next call repeats the rest. REQUIRES: the Tally is not started, and
// there is one caller.
func (t *Tally) Report(ctx context.Context) error {
	t.collect(t.c.Now())
	for _, g := range t.c.Groups.Groups() {
		if r := t.reports[g]; !r.send(ctx) {
			return fmt.Errorf("group %d has not counted the auctions of its campaigns", g)
		}
	}
	return nil
}

// Close reports what was counted so far and stops. It waits for at most stopTimeout, and does not report what a group does
// not take in this time.
func (t *Tally) Close() {
	t.c.Market.SetLossWeight(0)
	t.stop()
	t.running.Wait()
	t.collect(t.c.Now())
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for _, r := range t.reports {
		t.running.Go(func() { r.send(ctx) })
	}
	t.running.Wait()
}

// Stats returns what was done so far.
func (t *Tally) Stats() Stats {
	return Stats{t.stats.proposed.Load(), t.stats.failed.Load(), t.stats.dropped.Load(), t.stats.weight.Load()}
}

// run adapts the weight of losers every second and reports at every full interval, until ctx ends.
func (t *Tally) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for last := t.c.Now(); ; {
		timer.Reset(time.Second - time.Duration(t.c.Now().Nanosecond()))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := t.c.Now()
		t.setWeight(now.Sub(last))
		if full := now.Truncate(interval); full.After(last) {
			t.collect(full)
			for _, r := range t.reports {
				r.wake()
			}
		}
		last = now
	}
}

// setWeight makes the auctions count so many losers as they could in the time that has passed since the last call.
func (t *Tally) setWeight(passed time.Duration) {
	var auctions uint64
	t.traffic = t.c.Market.AppendTraffic(t.traffic[:0])
	for i := range t.traffic {
		auctions += t.traffic[i].Auctions
	}
	weight := weightOf(auctions-t.auctions, passed)
	t.auctions = auctions
	t.c.Market.SetLossWeight(weight)
	t.stats.weight.Store(weight)
}

// weightOf returns for how many requests one is looked at, after a number of auctions in some time.
func weightOf(auctions uint64, passed time.Duration) uint32 {
	seconds := max(passed, time.Second).Seconds()
	return uint32(max(1, (float64(auctions)/seconds+auctionsPerSecond-1)/auctionsPerSecond)) // A node runs far fewer than 2^44 a second.
}

// collect takes the counts of the time that ends at a moment.
func (t *Tally) collect(end time.Time) {
	cells := map[uint16]uint32{}
	t.c.Market.CollectAuctions(func(x *market.AuctionCounts) {
		cell, known := cells[x.Marketplace]
		if !known {
			cell = t.cellOf(x.Marketplace, end.Add(-time.Second))
			cells[x.Marketplace] = cell
		}
		if r := t.reports[ids.Group(x.Group)]; r != nil {
			r.add(x, cell)
		}
	})
	t.enrolled = t.c.Market.CollectEnrolled(t.enrolled[:0])
	for i := range t.enrolled {
		if r := t.reports[ids.Group(t.enrolled[i].Group)]; r != nil {
			r.enrol(&t.enrolled[i])
		}
	}
}

// cellOf returns the hour of a marketplace that contains a moment.
func (t *Tally) cellOf(marketplace uint16, at time.Time) uint32 {
	offset := 0
	if zone := t.c.Zone(marketplace); zone != nil {
		_, offset = at.In(zone).Zone()
	}
	cell, _ := command.CellOf(at.Unix(), int64(offset))
	return cell
}
