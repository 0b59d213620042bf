package market

import (
	"math/bits"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// Spent is what one node has spent for a campaign since the node started, as totals. Nothing is lost when a report of
// them is lost, because the next one contains them again.
type Spent struct {
	Ordinal  uint32       // The campaign's, within its Raft group.
	Expected money.Micros // The sum of the expected costs of its wins.
	Wins     uint64
}

// Spending collects the own totals of all campaigns of a Market, once a second, for the leaders of their groups. Only
// campaigns that have won since the last collection are read, so its cost depends on them alone.
//
// A Market has at most one Spending. One goroutine uses it; auctions add to the totals at the same time.
type Spending struct {
	market *Market
	report uint64 // Number of the last collection, from 1.
	groups []spentGroup
	known  []known // By campaign row.
	// unsettled holds what the last collections have found, by collection number modulo its length. It is settled when
	// its place is needed again.
	unsettled [settleReports][]unsettled
}

// settleReports is the number of collections after which a win leaves Balances.Pending: the first one reports it, one
// second later the leader has at the latest computed the hold that contains it, and one second is left for the command
// that publishes this hold. Together with the time before the first collection a win is pending for two to three
// seconds.
const settleReports = 2

// spentGroup holds the campaigns of one Raft group that have ever won.
type spentGroup struct {
	spent   []Spent
	reports []uint64 // Parallel to spent: the number of the last collection that found a change.
	last    uint64   // The largest of reports.
}

// known is what is known of a campaign at a row.
type known struct {
	index uint32 // In spentGroup.spent, plus 1; 0: it has never won.
	wins  uint32 // Balances.wins as last read.
	total uint64 // Balances.expected as last read.
}

// unsettled is a total at the time of a collection.
type unsettled struct {
	row   uint32
	total uint64
}

// NewSpending returns the Spending of a market.
func NewSpending(m *Market) *Spending { return &Spending{market: m} }

// Collect reads the totals of all campaigns that have won since the last call and returns the number of this
// collection. Wins that the collection before the last one has read leave the pending sum of their campaigns.
func (s *Spending) Collect() (report uint64) {
	v := s.market.View() // Whatever has won is in this view, because rows are never removed.
	s.report++
	turn := &s.unsettled[s.report%settleReports]
	for _, u := range *turn {
		v.Balances(u.row).settled.Store(u.total)
	}
	*turn = (*turn)[:0]
	for i, chunk := range v.balances {
		for word := range chunk.changed {
			if chunk.changed[word].Load() == 0 {
				continue
			}
			first := uint32(i<<chunkBits | word*64) // A row.
			for set := chunk.changed[word].Swap(0); set != 0; set &= set - 1 {
				s.read(v, first+uint32(bits.TrailingZeros64(set)), turn) // At most 63.
			}
		}
	}
	return s.report
}

// read adds what a campaign has spent since it was read last.
func (s *Spending) read(v *View, row uint32, turn *[]unsettled) {
	b, c := v.Balances(row), v.Campaign(row)
	for int(row) >= len(s.known) {
		s.known = append(s.known, known{})
	}
	for int(c.Group) >= len(s.groups) {
		s.groups = append(s.groups, spentGroup{})
	}
	k, g := &s.known[row], &s.groups[c.Group]
	if k.index == 0 {
		g.spent = append(g.spent, Spent{Ordinal: c.Ordinal})
		g.reports = append(g.reports, 0)
		k.index = uint32(len(g.spent)) // At most the number of campaigns.
	}
	total, wins := b.expected.Load(), b.wins.Load()
	x := &g.spent[k.index-1]
	x.Expected += money.Micros(total - k.total) // The wins of about a second.
	x.Wins += uint64(wins - k.wins)
	k.total, k.wins = total, wins
	g.reports[k.index-1], g.last = s.report, s.report
	*turn = append(*turn, unsettled{row, total})
}

// AppendChanged appends the totals of the campaigns of a group that have changed after the collection with a number, up
// to the last one; 0 means every campaign that has ever won. A reporter passes the number that the leader has
// acknowledged, so that a lost report is repaired by the next and a new leader receives everything.
func (s *Spending) AppendChanged(dst []Spent, g ids.Group, after uint64) []Spent {
	if int(g) >= len(s.groups) || s.groups[g].last <= after {
		return dst
	}
	group := &s.groups[g]
	for i, report := range group.reports {
		if report > after {
			dst = append(dst, group.spent[i])
		}
	}
	return dst
}
