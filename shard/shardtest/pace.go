package shardtest

import (
	"math/big"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// modelForgets is the time in milliseconds for which the newest counted report of a node is kept. It must equal that of
// the machine.
const modelForgets = 24 * hourMillis

// counted is a counted report of the model.
type counted struct {
	command.CountedReport
	millis int64
}

// pace makes decisions about some campaigns, some of which do not exist or are terminated. Now and then the number of the
// command is not the next one, or a word would raise bids.
func (g *Generator) pace() Step {
	m := g.Model
	p := command.Pace{Number: m.PaceNumber + 1}
	if g.choose(5, "late or early") == 0 {
		p.Number = m.PaceNumber + uint64(2*g.choose(2, "early"))
	}
	for range g.choose(3, "reports") {
		p.Counted = append(p.Counted, command.CountedReport{
			Node: uint16(g.choose(3, "node")), Start: uint32(g.choose(3, "start")), Number: uint64(g.choose(90, "report")),
		})
	}
	for ordinal := range uint32(len(m.Campaigns) + 2) {
		if g.choose(3, "left out") > 0 {
			continue
		}
		words := [...]uint64{pacing.Open, pacing.Stopped, pacing.Word(0.5, 1), pacing.Word(1, 0.25)}
		x := command.Paced{Campaign: ordinal, Word: words[g.choose(len(words), "word")], Status: pacing.Status(g.choose(pacing.Statuses, "status"))}
		if g.choose(3, "hold") > 0 {
			x.Hold = g.amount("how much")
		}
		x.Memory = pacing.Memory{AtMillis: g.now, Aggressiveness: -int32(g.choose(3, "aggressiveness")), HoldFast: x.Hold}
		p.Campaigns = append(p.Campaigns, x)
	}
	raises := len(p.Campaigns) > 0 && g.choose(12, "raises bids") == 0
	if raises {
		p.Campaigns[0].Word = pacing.Open + 1
	}
	s := Step{Name: "pace", Command: command.AppendPace(nil, g.now, &p), Result: refuse(command.TooEarly, 0)}
	switch {
	case m.Level < command.LevelPacing:
	case raises:
		s.Result = refuse(command.Invalid, 0)
	default:
		s.Result = m.Pace(&p)
	}
	return s
}

// Pace applies a Pace.
func (m *Model) Pace(p *command.Pace) command.Result {
	if p.Number != m.PaceNumber+1 {
		return refuse(command.Conflict, 0)
	}
	m.PaceNumber++
	for _, r := range p.Counted {
		m.counted[r.Node] = counted{r, m.Now}
	}
	for node, r := range m.counted {
		if m.Now-r.millis > modelForgets {
			delete(m.counted, node)
		}
	}
	skipped := 0
	for _, x := range p.Campaigns {
		c := m.byOrdinal(x.Campaign)
		if c == nil || c.Status == model.Terminated {
			skipped++
			continue
		}
		c.Paced = &x
	}
	return command.Result{Index: skipped}
}

func (m *Model) byOrdinal(ordinal uint32) *Campaign {
	i := slices.IndexFunc(m.Campaigns, func(c *Campaign) bool { return c.Ordinal == ordinal })
	if i < 0 {
		return nil
	}
	return m.Campaigns[i]
}

// overdeliver counts what an interaction was not charged for.
func (m *Model) overdeliver(c *Campaign, clipped money.Micros) money.Micros {
	if m.Level < command.LevelPacing || clipped == 0 {
		return 0
	}
	c.Overdelivered.Add(c.Overdelivered, big.NewInt(int64(clipped)))
	c.OverdeliveredTotal.Add(c.OverdeliveredTotal, big.NewInt(int64(clipped)))
	return clipped
}

// comparePaces compares the decisions of the pacing controller, in the state and where auctions read them.
func (m *Model) comparePaces(r *Replica, b shard.Queries, fail func(string, ...any)) {
	for _, c := range m.Campaigns {
		want := command.Paced{Word: pacing.Open}
		if c.Paced != nil {
			want = *c.Paced
		}
		got, found := b.Paced(c.Ordinal)
		if found != (c.Paced != nil) || found && got != want {
			fail("campaign %d has the pace %+v (%v), not %+v", c.Ordinal, got, found, want)
		}
		wallet := new(big.Int)
		for _, other := range m.Campaigns {
			if other.Campaign.Wallet == c.Campaign.Wallet && other.Paced != nil {
				wallet.Add(wallet, big.NewInt(int64(other.Paced.Hold)))
			}
		}
		read := r.Feed.Balances[c.ID]
		if read.Pacing.Load() != want.Word || read.Hold.Load() != int64(want.Hold) || read.WalletHold.Load() != wallet.Int64() {
			fail("auctions read the word %x and the holds %d and %d of campaign %d, not %x, %d and %v", read.Pacing.Load(), read.Hold.Load(),
				read.WalletHold.Load(), c.Ordinal, want.Word, want.Hold, wallet)
		}
	}
	number, reports := b.CountedReports()
	if number != m.PaceNumber || len(reports) != len(m.counted) {
		fail("pace %d with %d counted reports, not %d with %d", number, len(reports), m.PaceNumber, len(m.counted))
	}
	for _, x := range reports {
		if want := m.counted[x.Node].CountedReport; x != want {
			fail("counted report %+v, not %+v", x, want)
		}
		if r.Feed.Counted[x.Node] != x {
			fail("the node was told that %+v is counted, not %+v", r.Feed.Counted[x.Node], x)
		}
	}
}
