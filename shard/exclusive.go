package shard

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// An exclusive campaign has its product targets for itself, so no second one of the same format may have one of them at
// the same time. From LevelPacing on, tableExclusive lists the bids of exclusive campaigns by product, and a command
// that would give a product to two of them is refused as AlreadyExists. A group knows only its own campaigns; the
// proposer asks all groups before (Queries.ExclusiveOn).

// exclusiveLen is the length of a bid in tableExclusive: the ordinals of campaign and bid.
const exclusiveLen = 8

// isExclusiveBid reports whether a bid of a campaign is listed in tableExclusive.
func (m *Machine) isExclusiveBid(c *model.Campaign, b *model.Bid) bool {
	return m.state.level >= command.LevelPacing && c.Type == model.Exclusive && b.TargetType == model.TargetProduct
}

// listExclusive lists a bid of an exclusive campaign, or removes it from the list. Bids of terminated campaigns leave
// the list when it changes.
func (m *Machine) listExclusive(c *campaign, b *model.Bid) {
	if !m.isExclusiveBid(&c.Campaign, b) {
		return
	}
	key := keyExclusive(nil, c.Marketplace, c.Format, b.Target)
	stored, _ := m.get(key)
	var list []byte
	for ; len(stored) >= exclusiveLen; stored = stored[exclusiveLen:] {
		at := binary.BigEndian.Uint32(stored)
		if own := at == c.Ordinal && binary.BigEndian.Uint32(stored[4:]) == b.Ordinal; !own &&
			m.campaigns[at-1].Status != model.Terminated {
			list = append(list, stored[:exclusiveLen]...)
		}
	}
	if !b.Deleted {
		list = appendU32(appendU32(list, c.Ordinal), b.Ordinal)
	}
	m.put(key, list)
}

// hasRival reports whether another exclusive campaign has a product at the same time.
func (m *Machine) hasRival(c *model.Campaign, product string) bool {
	list, _ := m.get(keyExclusive(nil, c.Marketplace, c.Format, product))
	for ; len(list) >= exclusiveLen; list = list[exclusiveLen:] {
		if x := m.campaigns[binary.BigEndian.Uint32(list)-1]; x.ID != c.ID && Rivals(&x.Campaign, c) {
			return true
		}
	}
	return false
}

// firstRival returns the index of the first bid on a product that another exclusive campaign has at the same time.
func (m *Machine) firstRival(c *model.Campaign, bids []model.Bid) (index int, found bool) {
	for i := range bids {
		if m.isExclusiveBid(c, &bids[i]) && !bids[i].Deleted && m.hasRival(c, bids[i].Target) {
			return i, true
		}
	}
	return 0, false
}

// Rivals reports whether two exclusive campaigns on one product exclude each other: they are neither rejected nor
// terminated, and their dates overlap. Whether they are switched on does not matter, because that can change any time.
func Rivals(a, b *model.Campaign) bool {
	over := func(c *model.Campaign) bool { return c.Status == model.Rejected || c.Status == model.Terminated }
	end := func(c *model.Campaign) int64 {
		if c.EndMillis == 0 {
			return math.MaxInt64
		}
		return c.EndMillis
	}
	return !over(a) && !over(b) && a.StartMillis < end(b) && b.StartMillis < end(a)
}

// patchMakesRivals reports whether a patch would make an exclusive campaign run at the same time as another one on one
// of its products.
func (m *Machine) patchMakesRivals(c *campaign, p *command.PatchCampaign) bool {
	if c.Type != model.Exclusive || p.StartMillis == nil && p.EndMillis == nil && p.Status == nil {
		return false
	}
	after := c.Campaign
	p.Change(&after)
	_, found := m.firstRival(&after, m.bidsOf(c))
	return found
}

// bidsOf returns the bids of a campaign that are not deleted, with what the batch has changed of them.
func (m *Machine) bidsOf(c *campaign) (all []model.Bid) {
	prefix := appendU32([]byte{tableBid}, c.Ordinal)
	stored := make(map[string][]byte)
	m.b.Scan(prefix, prefixEnd(prefix), func(key, value []byte) bool {
		stored[string(key)] = bytes.Clone(value)
		return true
	})
	for key, value := range m.overlay { // order: they are sorted below.
		if strings.HasPrefix(key, string(prefix)) {
			stored[key] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(stored)) {
		if b := mustBid(stored[key]); !b.Deleted {
			all = append(all, b)
		}
	}
	return all
}

// listAllExclusive lists the bids of all exclusive campaigns when the group reaches LevelPacing.
func (m *Machine) listAllExclusive() {
	for _, c := range m.campaigns {
		if c.Type != model.Exclusive || c.Status == model.Terminated {
			continue
		}
		for _, b := range m.bidsOf(c) {
			m.listExclusive(c, &b)
		}
	}
}

// ExclusiveOn returns the exclusive campaigns of a format that have a bid on a product, terminated ones included.
func (b Queries) ExclusiveOn(marketplace uint16, format model.AdFormat, product string) (all []model.Campaign) {
	list, _ := b.R.Get(keyExclusive(nil, marketplace, format, product))
	seen := make(map[ids.UUID]bool)
	for list = bytes.Clone(list); len(list) >= exclusiveLen; list = list[exclusiveLen:] {
		if c, found := b.CampaignByOrdinal(binary.BigEndian.Uint32(list)); found && !seen[c.ID] {
			seen[c.ID] = true
			all = append(all, c.Campaign)
		}
	}
	return all
}
