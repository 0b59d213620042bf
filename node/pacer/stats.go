package pacer

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// stats counts what a Pacer does.
type stats struct {
	ticks, tickNanos, changes, unproposed atomic.Uint64
	hours                                 atomic.Uint64
	sent, failed, refused, late, deferred atomic.Uint64

	mu        sync.Mutex
	campaigns map[ids.Group]steeredCount
}

// steeredCount counts the campaigns of a group that are paced, and those among them that the target return holds back most.
type steeredCount struct{ paced, byReturn int32 }

// countOf counts a campaign by its decision.
func countOf(d *pacing.Decision) (n steeredCount) {
	if d.Word != pacing.Open {
		n.paced = 1
	}
	if d.Status == pacing.LimitedByReturn {
		n.byReturn = 1
	}
	return n
}

// paced records how many campaigns of a group are paced.
func (s *stats) paced(g ids.Group, campaigns steeredCount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.campaigns == nil {
		s.campaigns = map[ids.Group]steeredCount{}
	}
	s.campaigns[g] = campaigns
}

// Stats are counts since the start of the node.
type Stats struct {
	Ticks      uint64        // Ticks of all groups that this node led.
	TickTime   time.Duration // Time spent in them, without waiting for commits.
	Changes    uint64        // Decisions replicated.
	Unproposed uint64        // Commands that were not applied, or of which it is not known.
	Campaigns  int           // Campaigns whose bids are changed or stopped now, in the groups that this node leads.
	ByReturn   int           // Campaigns among them that are limited by their target return.

	Hours uint64 // Hours of traffic that this node has proposed to the meta group, one for each marketplace.

	ReportsSent, ReportsFailed, ReportsRefused uint64
	// ReportsLate counts the seconds in which more than three reports of this node waited for being counted.
	ReportsLate uint64
	// Deferred counts the totals that did not fit into a report and waited for the next one.
	Deferred uint64
}

// Stats returns the counts.
func (p *Pacer) Stats() Stats {
	s := &p.stats
	out := Stats{
		Ticks: s.ticks.Load(), TickTime: time.Duration(s.tickNanos.Load()), Changes: s.changes.Load(), Unproposed: s.unproposed.Load(), // Nanoseconds of work.
		Hours:       s.hours.Load(),
		ReportsSent: s.sent.Load(), ReportsFailed: s.failed.Load(), ReportsRefused: s.refused.Load(), ReportsLate: s.late.Load(), Deferred: s.deferred.Load(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.campaigns {
		out.Campaigns += int(n.paced)
		out.ByReturn += int(n.byReturn)
	}
	return out
}
