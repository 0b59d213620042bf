package market

import (
	"sync/atomic"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/model"
)

// ClickLevel says what a ClickCell counts. The cells of a level are the prior of those of the next.
type ClickLevel uint8

// The levels. Their numbers are part of stored keys.
const (
	ClickFormat    ClickLevel = iota // All ads of a format in a marketplace.
	ClickPlacement                   // All ads of a format at a placement.
	ClickAd                          // One ad at a placement.
	ClickLevels    = int(ClickAd) + 1
)

// ClickCell names what counts of impressions and clicks are about.
type ClickCell struct {
	Marketplace uint16
	Format      model.AdFormat
	Level       ClickLevel
	Placement   uint8  // The placement index of the auction; 0 at ClickFormat.
	Product     string // The ad of a listing at ClickAd: the product, whatever campaign advertises it.
	Bid         uint32 // The ad of another format at ClickAd: the ordinal of the bid, because each has its own creative.
}

// AdKey names an ad at a placement where auctions look click rates up. It is never 0.
type AdKey uint64

// adOfBid marks the ads that are bids. Ordinals of groups and bids, and rows of products, leave bit 63 free.
const adOfBid = 1 << 63

// ProductAd returns the listing ad of a product at a placement.
func ProductAd(row uint32, placement uint8) AdKey { return AdKey(uint64(row)+1)<<8 | AdKey(placement) }

// BidAd returns the banner or sponsored brand of a bid at a placement. bid is the bid's group in the high and its ordinal
// in the low half.
func BidAd(bid uint64, placement uint8) AdKey { return adOfBid | AdKey(bid<<8) | AdKey(placement) }

// clickRates are the learned click rates as auctions read them, without a lock. They are the same for all views: like
// balances, they change within a view. Rates of formats and placements are predictions; those of ads are counts, of which
// a reader makes a prediction with the rate of the placement as the prior. So a rate depends only on the counts that the
// groups have published, and not on the order in which they did.
type clickRates struct {
	markets atomic.Pointer[[]*clickPriors] // By ordinal of the marketplace; elements may be nil.
	ads     atomic.Pointer[adTable]        // Nil before the first ad.
}

// clickPriors are the predictions of one marketplace in units of 1/2^32; 0 where nothing was counted.
type clickPriors struct {
	formats    [model.AdFormats]atomic.Uint32
	placements [model.AdFormats][placements]atomic.Uint32
}

// placements is the number of placement indexes.
const placements = 1 << 8

// ClickPrior returns the predicted click rate of an average ad of a format at a placement, in units of 1/2^32, and the
// prior with which ClickRate predicts the rate of one ad there.
func (v *View) ClickPrior(marketplace uint16, format model.AdFormat, placement uint8) learn.Prior {
	all := v.clicks.markets.Load()
	if all == nil || int(marketplace) >= len(*all) || (*all)[marketplace] == nil {
		return learn.NewPrior(learn.PriorRate)
	}
	p := (*all)[marketplace]
	if rate := p.placements[format][placement].Load(); rate != 0 {
		return learn.NewPrior(rate)
	}
	if rate := p.formats[format].Load(); rate != 0 {
		return learn.NewPrior(rate)
	}
	return learn.NewPrior(learn.PriorRate)
}

// ClickRate returns the predicted click rate of an ad at the first rank, in units of 1/2^32, from learn.RateMin to
// learn.RateMax.
func (v *View) ClickRate(ad AdKey, prior *learn.Prior) uint32 {
	t := v.clicks.ads.Load()
	if t == nil {
		return prior.Rate
	}
	e := t.find(ad)
	if e == nil {
		return prior.Rate
	}
	return learn.Counts{Impressions: e.impressions.Load(), Clicks: e.clicks.Load()}.Predict(prior)
}

// adTable maps ads to their counts. It is a hash table with open addressing that readers use while the only writer adds
// entries. An entry is never removed: an ad that nobody counts any more has counts of 0, and is left out when the table
// grows.
type adTable struct {
	entries []adEntry // A power of two.
	used    int       // Entries that are not free. At most half are used, so that every search finds a free one.
}

// adEntry has half a cache line. The writer stores the ad last, so that a reader which finds it also finds its counts.
type adEntry struct {
	ad                  atomic.Uint64 // 0: free.
	impressions, clicks atomic.Uint64 // As in learn.Counts.
	_                   uint64
}

const adTableMin = 1 << 10

// index returns where the search for an ad begins.
func (t *adTable) index(ad AdKey) int {
	return int(Mix(mixC, uint64(ad)) & uint64(len(t.entries)-1)) // Below the number of entries.
}

// find returns the entry of an ad, nil when there is none.
func (t *adTable) find(ad AdKey) *adEntry {
	for i := t.index(ad); ; i = (i + 1) & (len(t.entries) - 1) {
		e := &t.entries[i]
		switch AdKey(e.ad.Load()) {
		case ad:
			return e
		case 0:
			return nil
		}
	}
}

// add adds an entry. REQUIRES: the table has no entry of the ad and less than half of its entries are used.
func (t *adTable) add(ad AdKey, counts learn.Counts) {
	i := t.index(ad)
	for t.entries[i].ad.Load() != 0 {
		i = (i + 1) & (len(t.entries) - 1)
	}
	e := &t.entries[i]
	e.impressions.Store(counts.Impressions)
	e.clicks.Store(counts.Clicks)
	e.ad.Store(uint64(ad))
	t.used++
}

// grown returns a table for at least one more entry, without the entries whose counts are 0.
func (t *adTable) grown() *adTable {
	live := 0
	for i := range t.entries {
		if t.entries[i].counts() != (learn.Counts{}) {
			live++
		}
	}
	size := adTableMin
	for size < 4*(live+1) {
		size *= 2
	}
	next := &adTable{entries: make([]adEntry, size)}
	for i := range t.entries {
		e := &t.entries[i]
		if counts := e.counts(); counts != (learn.Counts{}) {
			next.add(AdKey(e.ad.Load()), counts)
		}
	}
	return next
}

func (e *adEntry) counts() learn.Counts {
	return learn.Counts{Impressions: e.impressions.Load(), Clicks: e.clicks.Load()}
}

// clickCounts is what the groups have published of click rates. Market keeps it to add the counts of the groups, and to
// take those of a group out again.
//
// LOCKS: the market's lock guards it.
type clickCounts struct {
	parts   map[clickPart]learn.Counts // BOUND: package shard bounds the ads of a group and marketplace.
	markets map[uint16]*clickSums
}

// clickPart names what one group has published of one cell.
type clickPart struct {
	group       ids.Group
	marketplace uint16
	format      model.AdFormat
	level       ClickLevel
	placement   uint8
	ad          AdKey
}

// clickSums are the counts of all groups together.
type clickSums struct {
	formats    [model.AdFormats]learn.Counts
	placements [model.AdFormats][placements]learn.Counts
}

// PutClickRate replaces what a group has counted of a cell. Counts of 0 remove it. Auctions read the sum of all groups
// from then on.
func (m *Market) PutClickRate(g ids.Group, c *ClickCell, counts learn.Counts) {
	m.mu.Lock()
	defer m.mu.Unlock()

	p := clickPart{group: g, marketplace: c.Marketplace, format: c.Format, level: c.Level, placement: c.Placement}
	switch {
	case c.Level != ClickAd:
	case c.Format == model.Listing:
		p.ad = ProductAd(m.product(c.Marketplace, c.Product), c.Placement)
	default:
		p.ad = BidAd(uint64(g)<<32|uint64(c.Bid), c.Placement)
	}
	m.putClickPart(p, counts)
}

func (m *Market) putClickPart(p clickPart, counts learn.Counts) {
	old := m.clickCounts.parts[p]
	if counts == (learn.Counts{}) {
		delete(m.clickCounts.parts, p)
	} else {
		m.clickCounts.parts[p] = counts
	}
	replace := func(sum *learn.Counts) {
		sum.Impressions += counts.Impressions - old.Impressions // The unsigned sum is right whatever the difference.
		sum.Clicks += counts.Clicks - old.Clicks
	}
	if p.level == ClickAd {
		m.addToAd(p.ad, replace)
		return
	}
	sums := m.clickCounts.markets[p.marketplace]
	if sums == nil {
		sums = new(clickSums)
		m.clickCounts.markets[p.marketplace] = sums
	}
	if p.level == ClickFormat {
		replace(&sums.formats[p.format])
	} else {
		replace(&sums.placements[p.format][p.placement])
	}
	sums.predict(m.clickPriors(p.marketplace), p.format)
}

// addToAd changes the counts of an ad by replace.
func (m *Market) addToAd(ad AdKey, replace func(*learn.Counts)) {
	t := m.clicks.ads.Load()
	if t == nil {
		t = &adTable{entries: make([]adEntry, adTableMin)}
		m.clicks.ads.Store(t)
	}
	var counts learn.Counts
	if e := t.find(ad); e != nil {
		counts = e.counts()
		replace(&counts)
		e.impressions.Store(counts.Impressions)
		e.clicks.Store(counts.Clicks)
		return
	}
	if replace(&counts); counts == (learn.Counts{}) {
		return
	}
	if 2*(t.used+1) > len(t.entries) {
		t = t.grown()
		m.clicks.ads.Store(t)
	}
	t.add(ad, counts)
}

// predict stores the predictions of a format and its placements. A change of the format changes all of them, because it
// is their prior.
func (s *clickSums) predict(p *clickPriors, format model.AdFormat) {
	top := learn.NewPrior(learn.PriorRate)
	rate := s.formats[format].Predict(&top)
	p.formats[format].Store(rate)
	prior := learn.NewPrior(rate)
	for i := range s.placements[format] {
		if counts := s.placements[format][i]; counts != (learn.Counts{}) {
			p.placements[format][i].Store(counts.Predict(&prior))
		} else if p.placements[format][i].Load() != 0 {
			p.placements[format][i].Store(0)
		}
	}
}

// clickPriors returns the predictions of a marketplace for writing.
func (m *Market) clickPriors(marketplace uint16) *clickPriors {
	var all []*clickPriors
	if known := m.clicks.markets.Load(); known != nil {
		all = *known
	}
	if int(marketplace) < len(all) && all[marketplace] != nil {
		return all[marketplace]
	}
	next := make([]*clickPriors, max(len(all), int(marketplace)+1))
	copy(next, all)
	next[marketplace] = new(clickPriors)
	m.clicks.markets.Store(&next)
	return next[marketplace]
}

// dropClickRates removes what a group has published.
func (m *Market) dropClickRates(g ids.Group) {
	for p := range m.clickCounts.parts { // order: the parts are subtracted from sums.
		if p.group == g {
			m.putClickPart(p, learn.Counts{})
		}
	}
}
