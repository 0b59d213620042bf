package fsck

import (
	"encoding/binary"
	"fmt"
	"math/big"
)

func (b *groupCheck) addWallet(id [16]byte, value []byte) bool {
	w := &wallet{deposited: new(big.Int), spent: new(big.Int), balance: new(big.Int), transferred: new(big.Int)}
	var ok bool
	w.storedWallet, ok = readWallet(value)
	b.wallets[id] = w
	return ok
}

func (b *groupCheck) addCampaign(ordinal uint32, value []byte) bool {
	c := b.campaign(ordinal)
	var ok bool
	c.storedCampaign, ok = readCampaign(value)
	c.hasRecord = true
	b.byID[c.id] = ordinal
	switch {
	case !ok:
		return false
	case c.ordinal != ordinal || c.group != b.g.Group:
		b.problem(c.place(), "is stored as campaign %d", ordinal)
	case b.wallets[c.wallet] == nil:
		b.problem(c.place(), "its wallet %s does not exist", uuid(c.wallet))
	}
	return true
}

func (b *groupCheck) checkBid(campaign, ordinal uint32) {
	if c := b.campaigns[campaign]; c == nil || !c.hasRecord {
		b.problem(fmt.Sprintf("bid %d", ordinal), "its campaign %d does not exist", campaign)
	}
	if ordinal == 0 || ordinal > b.head.lastBid {
		b.problem(fmt.Sprintf("bid %d", ordinal), "bids end at %d", b.head.lastBid)
	}
}

// addCell adds the counters of a campaign, cell and bid.
func (b *groupCheck) addCell(key, value []byte) bool {
	c, ok := b.counts(key, value)
	if !ok {
		return false
	}
	rest := key[1:]
	id := [16]byte(rest)
	sumOf(b.cells, id).add(&c)
	b.tally(id, binary.BigEndian.Uint32(rest[20:])).cells.add(&c)
	return true
}

// addPlace adds the counters of a campaign, cell and place. What was spent may be negative: a reversal takes what it gives back
// from one place, whatever the place of the charge.
func (b *groupCheck) addPlace(campaign [16]byte, value []byte) bool {
	c, _, ok := readCounts(value)
	sumOf(b.places, campaign).add(&c)
	return ok
}

// sumOf returns the sum of a campaign.
func sumOf(sums map[[16]byte]*Counts, campaign [16]byte) *Counts {
	sum := sums[campaign]
	if sum == nil {
		sum = &Counts{}
		sums[campaign] = sum
	}
	return sum
}

// counts reads the counters of a cell. None is negative: what is taken back or reversed was counted before.
func (b *groupCheck) counts(key, value []byte) (c Counts, ok bool) {
	c, negative, ok := readCounts(value)
	if negative {
		b.problem(fmt.Sprintf("counters %x", key), "are negative: more was taken back than was counted")
	}
	return c, ok
}

func (b *groupCheck) tally(campaign [16]byte, ordinal uint32) *tally {
	k := bid{campaign, ordinal}
	t := b.bids[k]
	if t == nil {
		t = &tally{}
		b.bids[k] = t
	}
	return t
}

func (b *groupCheck) campaign(ordinal uint32) *campaign {
	c := b.campaigns[ordinal]
	if c == nil {
		c = &campaign{total: new(big.Int), period: new(big.Int), budget: new(big.Int)}
		b.campaigns[ordinal] = c
	}
	return c
}

func (b *groupCheck) bucket(key []byte) *keys {
	id := bucket{key[0], binary.BigEndian.Uint32(key[1:])}
	k := b.buckets[id]
	if k == nil {
		k = &keys{}
		b.buckets[id] = k
	}
	return k
}

// isDay reports whether the rest of a key names a table and a day, and for events a marketplace.
func isDay(rest []byte) bool {
	if len(rest) > 0 && rest[0] == tableEvent {
		return len(rest) == 7
	}
	return len(rest) == 5
}

// day returns the counts of the records of a table whose keys begin with a day.
func (b *groupCheck) day(table uint8, key []byte) *keys {
	id := day{table: table, day: binary.BigEndian.Uint32(key)}
	if table == tableEvent {
		id.marketplace = binary.BigEndian.Uint16(key[4:])
	}
	k := b.days[id]
	if k == nil {
		k = &keys{}
		b.days[id] = k
	}
	return k
}

func (b *groupCheck) countKey(class uint8) {
	if class == classEvent {
		b.g.EventKeys++
	} else {
		b.g.ChargeKeys++
	}
}
