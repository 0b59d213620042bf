package shard

import (
	"encoding/binary"
	"sort"

	"github.com/gavel-ads/gavel/shard/attribution"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
)

// CreditDays is for how many UTC days, the current one included, credited items are kept after their purchases were opened.
const CreditDays = attribution.WindowDaysMax

// FirstLine returns the number of the first journal line that was committed at a time or later, in Unix milliseconds.
// Without such a line it is the number that the next line will have.
func (b Queries) FirstLine(millis int64) uint64 {
	lines := int(b.state().lastLine) // Lines fit: each has 81 bytes.
	return 1 + uint64(sort.Search(lines, func(i int) bool {
		seq := uint64(i) + 1
		stored, _ := b.R.Get(keyLine(nil, seq)) // Lines have no gaps.
		line := must(ledger.ReadLine(seq, stored))
		return line.Millis >= millis // The state clock never goes back.
	}))
}

// LastLine returns the number of the newest journal line, 0 when there is none.
func (b Queries) LastLine() uint64 { return b.state().lastLine }

// CampaignsCounted returns campaigns that have counters in cells [from, to) of this group, in the order of their ids, after one (zero: from
// the first). It looks at most at limit campaigns and returns the last one, and whether there are more. Campaigns of other
// groups have counters here of events that named them by their external ids.
func (b Queries) CampaignsCounted(after ids.UUID, from, to uint32, limit int) (all []ids.UUID, last ids.UUID, more bool) {
	at := []byte{tableCampaignCell}
	if !after.IsZero() {
		at = prefixEnd(append(at, after[:]...))
	}
	for range limit {
		id, cell, found := b.nextCampaignCell(at)
		if !found {
			return all, last, false
		}
		if cell < from {
			var next ids.UUID
			next, cell, found = b.nextCampaignCell(keyCampaignCell(nil, id, from, 0))
			found = found && next == id // Else it has no newer ones.
		}
		if found && cell < to {
			all = append(all, id)
		}
		last, at = id, prefixEnd(append([]byte{tableCampaignCell}, id[:]...))
	}
	return all, last, true
}

// nextCampaignCell returns the campaign and the cell of the first counters from a key on.
func (b Queries) nextCampaignCell(at []byte) (campaign ids.UUID, cell uint32, found bool) {
	b.R.Scan(at, []byte{tableCampaignCell + 1}, func(key, _ []byte) bool {
		campaign, cell, found = ids.UUID(key[1:17]), binary.BigEndian.Uint32(key[17:]), true
		return false
	})
	return campaign, cell, found
}

// FirstCampaignCell returns the oldest cell in which any campaign has counters. It reads one record of each campaign.
func (b Queries) FirstCampaignCell() (first uint32, some bool) {
	for at := []byte{tableCampaignCell}; ; {
		id, cell, found := b.nextCampaignCell(at)
		if !found {
			return first, some
		}
		if !some || cell < first {
			first, some = cell, true
		}
		at = prefixEnd(append([]byte{tableCampaignCell}, id[:]...))
	}
}

// FirstNoCampaignCell returns the oldest cell in which a marketplace has counters of events without a campaign.
func (b Queries) FirstNoCampaignCell(marketplace uint16) (cell uint32, found bool) {
	prefix := appendU16([]byte{tableNoCampaignCell}, marketplace)
	b.R.Scan(prefix, prefixEnd(prefix), func(key, _ []byte) bool {
		cell, found = binary.BigEndian.Uint32(key[len(prefix):]), true
		return false
	})
	return cell, found
}

// CreditsOfDay calls fn with the items that were credited to touches of this group, of purchases that were opened on a UTC
// day, in the order of their purchases' keys and items, after one of them (nil: from the first), until fn returns false. fn may
// keep what it gets.
func (b Queries) CreditsOfDay(day uint32, after *StoredCredit, fn func(*StoredCredit) bool) {
	prefix := appendU32([]byte{tableCredit}, day)
	from := prefix
	if after != nil {
		from = append(keyCredit(nil, &after.Purchase, after.Item), 0)
	}
	b.R.Scan(from, prefixEnd(prefix), func(_, value []byte) bool {
		c := must(readCredit(value))
		return fn(&c)
	})
}

// CreditsFrom returns how many credited items of the group are kept of purchases that were opened on a UTC day or later. It reads one
// record for each day.
func (b Queries) CreditsFrom(day uint32) (count uint64) {
	today := dayOf(b.Clock())
	for day = max(day, today-min(today, CreditDays)); day <= today; day++ {
		if stored, found := b.R.Get(keyDay(nil, dayIn(tableCredit, day))); found {
			count += binary.LittleEndian.Uint64(stored) // As flushDays writes it.
		}
	}
	return count
}

// CreditDay stands for the credited items of a UTC day, as they are now: Sum changes whenever one is added or some of its pieces
// come back.
type CreditDay struct {
	Day uint32
	Sum uint64
}

// CreditDays lists the UTC days of whose purchases the group keeps credited items, oldest first. It reads one record for each day.
func (b Queries) CreditDays() (all []CreditDay) {
	today := dayOf(b.Clock())
	for day := today - min(today, CreditDays); day <= today; day++ {
		if stored, found := b.R.Get(keyDay(nil, dayIn(tableCredit, day))); found {
			all = append(all, CreditDay{day, binary.LittleEndian.Uint64(stored[8:])}) // As flushDays writes it.
		}
	}
	return all
}
