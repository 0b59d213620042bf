package shardtest

import (
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// Clicks are the impressions and clicks of a cell in the model. Unlike those of the machine they decay on every day.
type Clicks struct{ Impressions, Clicks uint64 }

// Delay is the mean delay of clicks in the model, in 1/65,536 of a second.
type Delay struct{ Mean, Clicks int64 }

// visibilities are those of the ranks that the generator uses, in 1/65,536.
var visibilities = []uint64{1: 65_536, 52_428, 39_321, 35_388}

// teach learns from a counted event.
func (m *Model) teach(c *Campaign, r *command.EventRecord, outcome command.Outcome) {
	if c == nil || r.Rank == 0 || outcome == command.AlreadyCharged || r.Kind != event.Impression && r.Kind != event.Click {
		return
	}
	cells := []market.ClickCell{
		{Marketplace: c.Marketplace, Format: c.Format},
		{Marketplace: c.Marketplace, Format: c.Format, Level: market.ClickPlacement, Placement: r.Place.Placement()},
	}
	ad := market.ClickCell{Marketplace: c.Marketplace, Format: c.Format, Level: market.ClickAd, Placement: r.Place.Placement()}
	if c.Format == model.Listing {
		ad.Product = string(r.Product)
	} else {
		ad.Bid = r.Bid
	}
	if c.Format != model.Listing || ad.Product != "" {
		cells = append(cells, ad)
	}
	for _, cell := range cells {
		x, known := m.Clicks[cell]
		if !known && cell.Level == market.ClickAd && m.clickAds(c.Marketplace) >= m.ClickAdsMax {
			continue
		}
		if r.Kind == event.Click {
			x.Clicks += 65_536
		} else {
			x.Impressions += visibilities[r.Rank]
		}
		m.Clicks[cell] = x
	}
	if r.Kind == event.Click {
		m.clicked(c, string(r.Product))
		d, known := m.Delays[c.Marketplace]
		if !known {
			d.Mean = 60 * 65_536
		}
		d.Mean += (min(int64(r.AgeSeconds), 7_200)*65_536 - d.Mean) / (d.Clicks + 21)
		d.Clicks = min(d.Clicks+1, 1_000)
		m.Delays[c.Marketplace] = d
	}
}

// clickAds counts the ads of a marketplace whose click rates are learned.
func (m *Model) clickAds(marketplace uint16) (n int) {
	for cell := range m.Clicks {
		if cell.Marketplace == marketplace && cell.Level == market.ClickAd {
			n++
		}
	}
	return n
}

// decay lets days pass for the click rates of a marketplace.
func (m *Model) decay(marketplace uint16, days uint32) {
	for cell, x := range m.Clicks {
		if cell.Marketplace != marketplace || days == 0 {
			continue
		}
		for range min(days, 1_000) {
			x.Impressions, x.Clicks = x.Impressions*62_370/65_536, x.Clicks*62_370/65_536
		}
		m.Clicks[cell] = x
		if cell.Level == market.ClickAd && x.Impressions < 65_536 {
			delete(m.Clicks, cell)
		}
	}
}

// LearnTraffic applies a Traffic.
func (m *Model) LearnTraffic(x *command.Traffic) command.Result {
	hours := m.Traffic[x.Marketplace]
	switch {
	case int64(x.Cell)*900_000 > m.Now+60_000:
		return refuse(command.Invalid, 0)
	case m.Marketplaces[x.Marketplace] == nil:
		return refuse(command.NotFound, 0)
	case len(hours) > 0 && x.Cell <= hours[len(hours)-1].Cell:
		return command.Result{}
	}
	m.Traffic[x.Marketplace] = append(hours, *x)
	return command.Result{}
}

// compareLearned compares what the machine has learned, and what it published, with the model.
func (m *Model) compareLearned(r *Replica, b shard.Queries, fail func(string, ...any)) {
	m.compareBought(r, b, fail)
	total, published := 0, 0
	for marketplace := uint16(1); marketplace <= 2; marketplace++ {
		day := m.Periods[marketplace].Day
		for _, got := range b.ClickRates(marketplace) {
			total++
			want, known := m.Clicks[got.ClickCell]
			got.Decay(day)
			if !known || got.Counts != learn.Counts(want) {
				fail("%+v has %+v, not %+v", got.ClickCell, got.Counts, want)
			}
			if got.Counts != (learn.Counts{}) {
				published++
			}
			if read := r.Feed.Clicks[got.ClickCell]; read != got.Counts {
				fail("auctions read %+v of %+v, not %+v", read, got.ClickCell, got.Counts)
			}
		}
		if got, want := b.ClickDelay(marketplace), m.Delays[marketplace]; got != (learn.Delay{Mean: uint64(want.Mean), Clicks: uint32(want.Clicks)}) {
			fail("the delay of clicks in marketplace %d is %+v, not %+v", marketplace, got, want)
		}
		var traffic shard.Traffic
		for _, x := range m.Traffic[marketplace] {
			traffic.Cell = x.Cell
			sum := uint64(0)
			for format, n := range x.Auctions {
				traffic.Formats[format].Learn(int(x.Hour), n, uint32(x.Minutes))
				sum += n
			}
			traffic.All.Learn(int(x.Hour), sum, uint32(x.Minutes))
		}
		if got := b.Traffic(marketplace); got != traffic {
			fail("the traffic of marketplace %d is %+v, not %+v", marketplace, got, traffic)
		}
	}
	if total != len(m.Clicks) || published != len(r.Feed.Clicks) {
		fail("%d click rates are stored, not %d, and %d published, not %d", total, len(m.Clicks), len(r.Feed.Clicks), published)
	}
}

func (g *Generator) traffic() Step {
	if g.Model.Level < command.LevelPacing {
		return g.advance()
	}
	cell, hour := command.CellOf(g.now/1000-int64(3600*(g.choose(4, "hours ago")-1)), 3600*int64(g.choose(2, "zone")))
	x := command.Traffic{Marketplace: g.market(), Cell: cell, Hour: hour, Minutes: 60}
	for format := range x.Auctions {
		x.Auctions[format] = uint64(g.choose(3, "auctions")) * 1_000
	}
	return Step{Name: "traffic", Command: command.AppendTraffic(nil, g.now, &x), Result: g.Model.LearnTraffic(&x)}
}
