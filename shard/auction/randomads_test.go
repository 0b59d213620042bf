package auction_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// This file generates banners, sponsored brands, travel and targeting.

// drawKind changes a query to another kind than listings.
func (r *randomMarket) drawKind(q *query) {
	q.kind = auction.Banners + auction.Kind(r.IntN(4))
	q.place, q.device = r.place(), auction.Device(r.IntN(3))
	switch q.kind {
	case auction.SponsoredBrand:
		if r.IntN(4) == 0 {
			q.place = "uuid-of-" + q.place
		}
	case auction.Flights:
		q.form, q.clauses = auction.NoCategory, nil
		for range q.products {
			q.variations = append(q.variations, fmt.Sprint("var", r.IntN(3)))
		}
		fallthrough
	case auction.Hotels:
		q.hasSearch, q.search = false, ""
		if r.IntN(2) == 0 {
			q.products, q.variations, q.quality = nil, nil, nil
		}
		q.attributes, q.promotions = nil, nil
	case auction.Banners:
		q.attributes, q.promotions = nil, nil
		if r.IntN(2) == 0 {
			q.products, q.quality, q.form, q.clauses, q.hasSearch, q.search = nil, nil, auction.NoCategory, nil, false, ""
		}
	default:
	}
}

func (r *randomMarket) drawTerms(c *campaign) {
	c.Segments, c.Schedule, c.Caps, c.Products = model.SegmentRules{}, nil, nil, nil
	c.HoldoutPercent = []uint8{0, 0, 1, 20, 50}[r.IntN(5)]
	if r.IntN(3) > 0 {
		return
	}
	for r.IntN(3) == 0 {
		c.Segments.Include = append(c.Segments.Include, r.segment())
	}
	for r.IntN(4) == 0 {
		c.Segments.Exclude = append(c.Segments.Exclude, r.segment())
	}
	for r.IntN(2) == 0 {
		x := model.SegmentMultiplier{Segment: r.segment(), Multiplier: 100_000 + r.Uint32N(9_900_001)}
		c.Segments.Multipliers = append(c.Segments.Multipliers, x)
	}
	if r.IntN(3) == 0 {
		c.Schedule = make([]uint16, model.ScheduleHours)
		for i := range c.Schedule {
			c.Schedule[i] = []uint16{100, 100, 0, 50, 250, 1_000, 1}[r.IntN(7)]
		}
	}
	for n := range uint8(model.RestrictionTypes) {
		if r.IntN(20) == 0 {
			c.Caps = append(c.Caps, model.Cap{Type: n + 1, Limit: 1 + r.Uint32N(3)})
		}
	}
	for r.IntN(2) == 0 {
		c.Products = append(c.Products, r.product())
	}
}

func (r *randomMarket) creative() *model.Creative {
	c := &model.Creative{Place: r.place(), Device: auction.Device(r.IntN(4) % 3)}
	for range 1 + r.IntN(3) {
		a := model.BannerAsset{URL: "https://a/" + r.word(), Dimensions: r.dimensions()}
		if r.IntN(3) == 0 {
			a.AssetID = r.word()
			a.URL = a.URL[:9*r.IntN(2)]
		}
		if r.IntN(3) == 0 {
			a.Content = []byte(`{"a":1}`)
		}
		c.Assets = append(c.Assets, a)
	}
	if r.IntN(2) == 0 {
		c.Title, c.Content = r.word(), []byte("{}")
	}
	for r.IntN(2) == 0 {
		c.Products = append(c.Products, r.product())
	}
	return c
}

// changeRecords changes places, assets and segments.
func (r *randomMarket) changeRecords() {
	switch r.IntN(4) {
	case 0:
		id := r.place()
		if r.IntN(6) == 0 {
			delete(r.slots, id)
			r.m.DeleteMediaSlot(1, id)
			return
		}
		s := model.MediaSlot{ID: id, Active: r.IntN(8) > 0}
		s.Dimensions[auction.Desktop], s.Dimensions[auction.Mobile] = r.dimensions(), r.dimensions()
		r.slots[id] = s
		r.m.PutMediaSlot(1, &s)
	case 1:
		id := r.place()
		p := model.Placement{ID: "uuid-of-" + id, ExternalID: id, Active: r.IntN(8) > 0}
		if r.IntN(6) == 0 {
			delete(r.placements, id)
			r.m.DeletePlacement(1, &p)
			return
		}
		r.placements[id] = p
		r.m.PutPlacement(1, &p)
	case 2:
		a := model.Asset{ID: r.word(), URL: "https://record/", Approved: r.IntN(3) > 0}
		if r.IntN(6) == 0 {
			delete(r.assets, a.ID)
			r.m.DeleteAsset(1, a.ID)
			return
		}
		r.assets[a.ID] = a
		r.m.PutAsset(1, &a)
	case 3:
		id := r.segment()
		if r.IntN(6) == 0 {
			delete(r.segments, id)
			r.m.DeleteSegment(1, id)
			return
		}
		var users []uint64
		for user := range uint64(4) {
			if user > 0 && r.IntN(2) == 0 {
				users = append(users, user)
			}
		}
		r.segments[id] = users
		r.m.PutSegment(1, id, users)
	}
}

// recordExposure counts an interaction of a user with a bid, in the market and in the model.
func (r *randomMarket) recordExposure() {
	if len(r.keys) == 0 {
		return
	}
	key := r.keys[r.IntN(len(r.keys))]
	b := r.bids[key]
	for n := range uint8(model.RestrictionTypes) {
		for hour := range int64(3) {
			r.exposures[frequencyQuery(uint64(1+r.IntN(3)), r.campaigns[key.campaign], &b, model.Cap{Type: n + 1}, 100+hour*3_600_000)] += r.Uint32N(2)
		}
	}
}

func (r *randomMarket) drawSettings() {
	for i := range r.settings.Reserve {
		r.settings.Reserve[i] = r.amount() / 4
	}
	r.settings.H3 = r.IntN(4) == 0
	r.settings.VendorMax = uint8([]int{0, 0, 1, 2, 3}[r.IntN(5)])
	r.settings.LearnedQualityMilli = []uint16{0, 0, 600, 1_000}[r.IntN(4)]
	r.settings.Experiment = r.experiment()
	r.settings.Reserves = nil
	for r.IntN(3) > 0 {
		x := model.ReserveRule{
			Charge: model.ChargeType(1 + r.IntN(3)), Amount: money.Micros(r.IntN(15)) * 10_000, AnyFormat: r.IntN(3) == 0,
			Format: model.AdFormat(r.IntN(3)),
		}
		if r.IntN(3) == 0 {
			x.Place = r.place()
		}
		if r.IntN(2) == 0 {
			x.Category = r.category()
		}
		r.settings.Reserves = append(r.settings.Reserves, x)
	}
}

// experiment returns a random experiment, or none.
func (r *randomMarket) experiment() model.Experiment {
	e := model.Experiment{
		Percent: uint8(r.IntN(3) * 25), Treatment: model.Treatment(r.IntN(model.Treatments)), ValueMilli: uint32(r.IntN(1_001)),
		StartMillis: int64(r.IntN(5)), EndMillis: int64(r.IntN(4) / 3),
	}
	if e.Treatment == model.TreatReserve {
		e.ValueMilli = []uint32{0, 500, 1_500, model.ExperimentReserveMax}[r.IntN(4)]
	}
	return e
}

// pacing returns a random pacing state that shades, reduces the probability or stops the campaign. Sometimes its factor is
// above 1, which no controller stores and which must not raise a bid.
func (r *randomMarket) pacing() uint64 {
	pass, multiplier := uint64(r.Uint32()), uint64(r.Uint32())
	switch r.IntN(5) {
	case 0:
		pass = pacing.Always
	case 1:
		multiplier = pacing.Unshaded
	case 2:
		multiplier = uint64(r.Uint32N(1 << 20))
	case 3:
		multiplier = uint64(r.Uint32N(pacing.Unshaded))
	}
	if r.IntN(6) == 0 {
		pass = 0
	}
	return pass<<32 | multiplier | 1
}

func (r *randomMarket) text() string {
	var words []string
	for range 1 + r.IntN(4) {
		words = append(words, r.word())
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), []string{" ", "-", "  "}[r.IntN(3)])
}

func (r *randomMarket) word() string {
	return []string{"red", "Red", "shoe", "ﬁne", "fine", "42"}[r.IntN(6)]
}

func (r *randomMarket) place() string   { return []string{"top", "side"}[r.IntN(2)] }
func (r *randomMarket) site() string    { return []string{"de", "fr"}[r.IntN(2)] }
func (r *randomMarket) segment() string { return fmt.Sprint("seg", r.IntN(3)) }

func (r *randomMarket) dimensions() model.Dimensions {
	return []model.Dimensions{{}, {}, {Width: 300, Height: 250}, {Width: 728, Height: 90}}[r.IntN(4)]
}
