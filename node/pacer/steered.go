package pacer

import (
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// steered are the campaigns that a leader steers.
type steered struct {
	loads     int
	campaigns []controlled // The campaign with ordinal n is at index n-1.
	periods   map[uint16]command.Periods
	memories  map[uint32]pacing.Memory // What former leaders replicated, by ordinal, of campaigns that were not put yet.
}

// controlled is a campaign with its controller. What idle reads comes first, so that a tick of an idle campaign loads one
// cache line.
type controlled struct {
	served   pacing.Served // Since the last tick; Auctions is not used.
	decision pacing.Decision
	ticked   bool
	changed  bool          // The settings were put after the last tick.
	moved    bool          // The campaign has served something since its memory was replicated.
	status   pacing.Status // As replicated last.

	settings
	state      pacing.State
	returns    pacing.Returns
	auctions   uint64    // Those of its marketplace and format at the last tick, as leader.auctions counts.
	price      int64     // Mean expected cost of the last wins, in micros.
	remembered time.Time // When the memory was replicated last.
}

// idleTurns is the number of seconds in which a campaign that serves nothing has one tick; the campaigns take turns. Most
// campaigns serve nothing in most seconds, and their controllers only let time pass.
const idleTurns = 4

// idle reports whether a campaign can wait for its turn.
func (c *controlled) idle() bool {
	return c.ticked && !c.changed && c.served.Wins == 0 && c.served.Expected == 0
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
			s.memories[uint32(i+1)] = c.memory() // Ordinals have 32 bits.
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
	c.settings, c.changed = *x, true
	c.carry = known
	if m, known := s.memories[ordinal]; known {
		c.state, c.returns = pacing.Restore(m), pacing.RestoreReturns(m.Return)
		c.carry = carryOf(m, x)
		delete(s.memories, ordinal)
	}
}

// memory returns what the next leader continues from.
func (c *controlled) memory() pacing.Memory {
	m := c.state.Memory()
	m.Return = c.returns.Memory()
	return m
}

// waits reports whether a campaign needs no ticks: it was not fed, is terminated, or has neither budget nor target return and nothing is
// held.
func (c *controlled) waits() bool {
	if c.balances == nil || c.ended {
		return true
	}
	return c.budget == 0 && c.target == 0 && c.served.Wins == 0 && c.served.Expected == 0 && c.decision.Hold == 0 && c.balances.Hold.Load() == 0 &&
		c.balances.Pacing.Load() == pacing.Open
}
