package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/rollup"
)

const _ = uint(rollup.LossReasonsMax - market.LossReasonsMax) // The build fails when a counted reason cannot be stored.

// tally is what the state knows of the CountAuctions of a node.
type tally struct {
	start  uint32
	number uint64 // Of the last command of this start that was applied.
}

// countAuctions adds the auctions of one command to the cells of the campaigns, unless they were added before.
func (m *Machine) countAuctions(x *command.CountAuctions) command.Result {
	key := keyTally(nil, x.Node)
	var last tally
	if stored, found := m.get(key); found {
		last = mustTally(stored)
	}
	if x.Start > last.start {
		last = tally{start: x.Start}
	}
	switch {
	case x.Start < last.start || x.Number > last.number+1:
		return refused(command.Conflict, 0)
	case x.Number <= last.number:
		return command.Result{}
	}
	m.put(key, appendTally(nil, tally{x.Start, x.Number}))
	for i := range x.Campaigns {
		c := &x.Campaigns[i]
		if c.Campaign == 0 || uint64(c.Campaign) > uint64(len(m.campaigns)) {
			continue
		}
		key := keyAuctionCell(nil, c.Campaign, c.Cell)
		var a rollup.Auctions
		if stored, found := m.get(key); found {
			mustAuctions(&a, stored)
		}
		a.Won += int64(c.Won) // At most AuctionsMax, as the others.
		for _, l := range c.Lost {
			a.Lost[l.Reason] += int64(l.Auctions)
		}
		m.put(key, a.AppendTo(nil))
	}
	return command.Result{}
}

func mustAuctions(a *rollup.Auctions, stored []byte) {
	if err := a.Decode(stored); err != nil {
		panic("shard: stored auctions: " + err.Error())
	}
}

func appendTally(dst []byte, t tally) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(dst, t.start), t.number)
}

func readTally(stored []byte) (tally, error) {
	d := command.NewDecoder(stored)
	t := tally{d.U32(), d.U64()}
	return t, d.Err()
}

func mustTally(stored []byte) tally { return must(readTally(stored)) }

// CellAuctions are the auctions of a campaign in one cell.
type CellAuctions struct {
	Cell uint32
	rollup.Auctions
}

// CampaignAuctions returns the auctions of a campaign for each cell in [from, to) that has any, oldest first. Only the
// group of the campaign has them.
func (b Queries) CampaignAuctions(campaign ids.UUID, from, to uint32) (all []CellAuctions) {
	c, found := b.Campaign(campaign)
	if !found {
		return nil
	}
	b.R.Scan(keyAuctionCell(nil, c.Ordinal, from), keyAuctionCell(nil, c.Ordinal, to), func(key, value []byte) bool {
		x := CellAuctions{Cell: binary.BigEndian.Uint32(key[5:])}
		mustAuctions(&x.Auctions, value)
		all = append(all, x)
		return true
	})
	return all
}

// CountedAuctions returns the number of the last CountAuctions of a start of a node that was applied.
func (b Queries) CountedAuctions(node uint16, start uint32) (number uint64) {
	if stored, found := b.R.Get(keyTally(nil, node)); found {
		if t := mustTally(stored); t.start == start {
			return t.number
		}
	}
	return 0
}
