package pacer

import (
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// steered are the campaigns that a leader steers.
type steered struct {
	loads     int
	campaigns []controlled // The campaign with ordinal n is at index n-1.
	periods   map[uint16]command.Periods
	memories  map[uint32]pacing.Memory // What former leaders replicated, by ordinal, of campaigns that were not put yet.
}

// controlled is a campaign with its controller.
type controlled struct {
	settings
	state      pacing.State
	ticked     bool
	served     pacing.Served // Since the last tick; Auctions is not used.
	decision   pacing.Decision
	status     pacing.Status // As replicated last.
	price      int64         // Mean expected cost of the last wins, in micros.
	remembered time.Time     // When the memory was replicated last.
	moved      bool          // The campaign has served something since then.
}

// newSteered returns the campaigns of a group with what former leaders remembered of them.
func newSteered(r shard.Reader) (s steered, number uint64, counted []command.CountedReport) {
	q := shard.Queries{R: r}
	s = steered{loads: -1, periods: map[uint16]command.Periods{}, memories: map[uint32]pacing.Memory{}}
	q.EachPaced(func(x *command.Paced) bool {
		s.memories[x.Campaign] = x.Memory
		return true
	})
	number, counted = q.CountedReports()
	return s, number, counted
}

// restart forgets the campaigns, because the group was loaded again. Their memories are kept, for the campaigns that come.
func (s *steered) restart(loads int) {
	for i := range s.campaigns {
		if c := &s.campaigns[i]; c.ticked {
			s.memories[uint32(i+1)] = c.state.Memory() // Ordinals have 32 bits.
		}
	}
	s.loads, s.campaigns = loads, nil
}

// put adds a campaign, or changes its settings.
func (s *steered) put(ordinal uint32, x *settings) {
	for int(ordinal) > len(s.campaigns) {
		s.campaigns = append(s.campaigns, controlled{})
	}
	c := &s.campaigns[ordinal-1]
	known := c.carry
	c.settings = *x
	c.carry = known
	if m, known := s.memories[ordinal]; known {
		c.state = pacing.Restore(m)
		c.carry = carryOf(m, x)
		delete(s.memories, ordinal)
	}
}

// waits reports whether a campaign needs no ticks: it was not fed, is terminated, or has no budget and nothing is held.
func (c *controlled) waits() bool {
	if c.balances == nil || c.ended {
		return true
	}
	return c.budget == 0 && c.served.Wins == 0 && c.served.Expected == 0 && c.decision.Hold == 0 && c.balances.Hold.Load() == 0 &&
		c.balances.Pacing.Load() == market.PacingOpen
}
