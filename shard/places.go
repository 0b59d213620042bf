package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// The counters of a campaign are kept a second time by place (event.Place), from LevelPlaces on, so that a report by device
// need not read single events. Whatever changes counters of a campaign changes those of a place by the same, but for
// purchases and page views as such: a sale has the place of the ad that it is credited to.
//
// INVARIANT: in a cell that began at LevelPlaces, the counters of all places of a campaign add up to those of all its bids.
// What a reversal gives back is taken from the place 0, because the journal does not know places; so what was spent there may
// be negative.

// placeOf returns the counters of a place beside those of a campaign with a key, so that the caller changes them; nil below
// LevelPlaces, and for counters of no campaign. It changes m.key. OWNERSHIP: valid until the next call of cell.
func (m *Machine) placeOf(key []byte, place event.Place) *rollup.Counters {
	if m.state.level < command.LevelPlaces || key[0] != tableCampaignCell {
		return nil
	}
	m.key = keyPlaceCell(m.key[:0], ids.UUID(key[1:]), binary.BigEndian.Uint32(key[17:]), place)
	return m.cell(m.key)
}

// PlaceCounters are the counters of a campaign at one place.
type PlaceCounters struct {
	Place event.Place
	rollup.Counters
}

// CampaignPlaces returns the counters of a campaign for each place, summed over cells [from, to), ordered by place.
func (b Queries) CampaignPlaces(campaign ids.UUID, from, to uint32) (all []PlaceCounters) {
	var sums [1 << 8]*rollup.Counters
	b.scanCells(keyPlaceCell(nil, campaign, from, 0), keyPlaceCell(nil, campaign, to, 0), func(key []byte, c *rollup.Counters) {
		place := key[len(key)-1]
		if sums[place] == nil {
			sums[place] = new(rollup.Counters)
		}
		sums[place].Add(c)
	})
	for place, sum := range sums {
		if sum != nil {
			all = append(all, PlaceCounters{event.Place(place), *sum}) // Below 256.
		}
	}
	return all
}
