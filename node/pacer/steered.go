package pacer

import (
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// steered are the campaigns that a leader steers.
type steered struct {
	loads     int
	campaigns []controlled // The campaign with ordinal n is at index n-1.
	turns     turns        // Which of them a tick visits.
	counted   steeredCount // Of all of them.
	read      uint64       // Means nothing: it keeps the compiler from leaving out what preload reads.
	periods   map[uint16]command.Periods
	memories  map[uint32]pacing.Memory // What former leaders replicated, by ordinal, of campaigns that were not put yet.
}

// controlled is a campaign with its controller. What every tick reads comes first, so that it loads few cache lines.
type controlled struct {
	served   pacing.Served // Since the last tick; Auctions is not used.
	decision pacing.Decision
	ticked   bool
	moved    bool          // The campaign has served something since its memory was replicated.
	status   pacing.Status // As replicated last.
	counted  steeredCount  // As steered.counted has it.

	settings
	auctions   uint64 // Those of its marketplace and format at the last tick, as leader.auctions counts.
	price      int64  // Mean expected cost of the last wins, in micros.
	remembered int64  // When the memory was replicated last, in Unix milliseconds.
	state      pacing.State
	returns    pacing.Returns
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
	s.loads, s.campaigns, s.turns, s.counted = loads, nil, turns{}, steeredCount{}
}

// put adds a campaign, or changes its settings.
func (s *steered) put(ordinal uint32, x *settings) {
	for int(ordinal) > len(s.campaigns) {
		s.campaigns = append(s.campaigns, controlled{})
	}
	s.turns.grow(len(s.campaigns))
	s.turns.ask(int(ordinal) - 1)
	c := &s.campaigns[ordinal-1]
	known := c.carry
	c.settings = *x
	c.carry = known
	if m, known := s.memories[ordinal]; known {
		c.state, c.returns = pacing.Restore(m), pacing.RestoreReturns(m.Return)
		c.carry = carryOf(m, x)
		delete(s.memories, ordinal)
	}
}

// serve sets what a campaign has served since the last tick, and makes the tick visit it. A campaign that is not known yet is left out.
func (s *steered) serve(ordinal uint32, served pacing.Served) {
	if ordinal == 0 || int64(ordinal) > int64(len(s.campaigns)) {
		return
	}
	s.campaigns[ordinal-1].served = served
	if served.Wins != 0 || served.Expected != 0 {
		s.turns.ask(int(ordinal) - 1)
	}
}

// preload reads campaigns that are to be visited. Each campaign lies in nine lines of memory that no cache has, and waiting
// for one after the other takes longer than deciding; reads that do not need each other are fetched together.
func (s *steered) preload(batch []int) {
	for _, i := range batch {
		c := &s.campaigns[i]
		s.read += c.served.Wins + uint64(c.start) + c.auctions + c.state.Preload() // Any fields, one of each line.
		if c.balances != nil {
			s.read += c.balances.Pacing.Load()
		}
	}
}

// count replaces what a campaign adds to the count of all.
func (s *steered) count(c *controlled, now steeredCount) {
	s.counted.paced += now.paced - c.counted.paced
	s.counted.byReturn += now.byReturn - c.counted.byReturn
	c.counted = now
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
