package shardtest

import (
	"math"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// auctionCell is a campaign's hour in the model.
type auctionCell struct{ campaign, cell uint32 }

// applied is a CountAuctions in the model.
type applied struct {
	node   uint16
	start  uint32
	number uint64
}

// CountAuctions applies a CountAuctions.
func (m *Model) CountAuctions(x *command.CountAuctions) command.Result {
	this := applied{x.Node, x.Start, x.Number}
	if m.tallies[this] {
		for later := range m.tallies {
			if later.node == x.Node && later.start > x.Start {
				return refuse(command.Conflict, 0)
			}
		}
		return command.Result{}
	}
	for other := range m.tallies {
		if other.node == x.Node && other.start > x.Start {
			return refuse(command.Conflict, 0)
		}
	}
	if before := (applied{x.Node, x.Start, x.Number - 1}); x.Number == 0 {
		return command.Result{} // Numbers begin at 1: nothing is to be counted.
	} else if x.Number > 1 && !m.tallies[before] {
		return refuse(command.Conflict, 0)
	}
	m.tallies[this] = true
	for _, c := range x.Campaigns {
		if m.byOrdinal(c.Campaign) == nil {
			continue
		}
		a := m.Auctions[auctionCell{c.Campaign, c.Cell}]
		a.Won += int64(c.Won)
		for _, l := range c.Lost {
			a.Lost[l.Reason] += int64(l.Auctions)
		}
		m.Auctions[auctionCell{c.Campaign, c.Cell}] = a
	}
	return command.Result{}
}

// compareAuctions compares the auctions of all campaigns.
func (m *Model) compareAuctions(b shard.Queries, fail func(string, ...any)) {
	cells := 0
	for _, c := range m.Campaigns {
		for _, got := range b.CampaignAuctions(c.ID, 0, math.MaxUint32) {
			cells++
			if want, known := m.Auctions[auctionCell{c.Ordinal, got.Cell}]; !known || got.Auctions != want {
				fail("campaign %d has the auctions %+v in cell %d, not %+v", c.Ordinal, got.Auctions, got.Cell, want)
			}
		}
	}
	if cells != len(m.Auctions) {
		fail("%d cells have auctions, not %d", cells, len(m.Auctions))
	}
}

// AuctionsStep returns a command that counts auctions. REQUIRES: the model has reached LevelReports.
func (g *Generator) AuctionsStep() Step {
	g.tick()
	return g.auctions()
}

// auctions counts auctions of some campaigns, one of which does not exist. Often it repeats or skips a number, or comes from
// an earlier start of the node.
func (g *Generator) auctions() Step {
	if g.Model.Level < command.LevelReports {
		return g.advance()
	}
	x := command.CountAuctions{Node: uint16(g.choose(2, "node")), Start: uint32(1 + g.choose(3, "start"))}
	for n := range g.Model.tallies {
		if n.node == x.Node && n.start == x.Start {
			x.Number = max(x.Number, n.number)
		}
	}
	x.Number += []uint64{1, 1, 1, 0, 2}[g.choose(5, "number")]
	for range g.choose(4, "campaigns") {
		c := command.CampaignAuctions{
			Campaign: uint32(g.choose(len(g.Model.Campaigns)+2, "campaign")), Cell: uint32(g.now/3_600_000) * 4, Won: uint64(g.choose(9, "won")),
		}
		for range g.choose(3, "reasons") {
			c.Lost = append(c.Lost, command.LostAuctions{
				Reason: uint8(g.choose(rollup.LossReasonsMax, "reason")), Auctions: uint64(1 + g.choose(300, "lost")),
			})
		}
		x.Campaigns = append(x.Campaigns, c)
	}
	return Step{Name: "auctions", Command: command.AppendCountAuctions(nil, g.now, &x), Result: g.Model.CountAuctions(&x)}
}
