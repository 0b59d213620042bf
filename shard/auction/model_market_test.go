package auction_test

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// modelMarket is a market as plain values. Tests set it up and feed it to the engine, and the naive model reads it.
type modelMarket struct {
	settings   model.Marketplace
	categories map[string]model.Category
	products   map[string]model.Product
	campaigns  map[string]*campaign
	bids       map[bidKey]model.Bid // Without deleted bids.
	slots      map[string]model.MediaSlot
	placements map[string]model.Placement // By external id.
	assets     map[string]model.Asset
	segments   map[string][]uint64
	exposures  frequencyCounts // The exposures of users to campaigns and bids.
	stale      *auction.Groups
	noAds      bool // The user of the auction sees no ads, or bids are not paced: an experiment treats the user.
	unpaced    bool
	clicks     map[clickCount]learn.Counts
	bought     map[boughtCount]learn.Bought
	winners    map[uint64]bool           // Bids that won the model's last auction, by group and ordinal.
	lostAs     map[uint64]auction.Reason // Why bids lost it, without those that failed a gate.
	heldTypes  map[model.ChargeType]bool // The charge types of the bids that are held back from it.
	raised     uint64                    // A bid, by group and ordinal, whose amount no target return lowers; 0: none.
	nodes      uint32                    // The number of serving nodes.
	// earlier is the expected cost of each campaign's wins in the earlier auctions of the request.
	earlier map[*campaign]money.Micros
	effects modelEffects
}

type campaign struct {
	model.Campaign
	left, wallet money.Micros

	hold, walletHold money.Micros
	wins             []ownWin
	total            money.Micros // The expected cost of all wins, and their number.
	won              uint64

	pacing uint64 // The pacing state, 0 for pacing.Open.
	slot   *market.Balances
}

// bidKey identifies a bid by its campaign's name and its ordinal.
type bidKey struct {
	campaign string
	ordinal  uint32
}

// frequencyCounts implements auction.FrequencyCounter with a map.
type frequencyCounts map[auction.FrequencyQuery]uint32

func (c frequencyCounts) Count(q auction.FrequencyQuery) uint32 { return c[q] }

func newModelMarket() *modelMarket {
	return &modelMarket{
		settings:   model.Marketplace{Ordinal: 1, CurrencyExponent: 2, ExternalDemand: model.ExternalDemand{OwnValue: "gavel"}},
		categories: map[string]model.Category{},
		products:   map[string]model.Product{},
		campaigns:  map[string]*campaign{},
		bids:       map[bidKey]model.Bid{},
		slots:      map[string]model.MediaSlot{},
		placements: map[string]model.Placement{},
		assets:     map[string]model.Asset{},
		segments:   map[string][]uint64{},
		exposures:  frequencyCounts{},
		earlier:    map[*campaign]money.Micros{},
		clicks:     map[clickCount]learn.Counts{},
		bought:     map[boughtCount]learn.Bought{},
	}
}

// feed puts everything into a market, in the order of names.
func (w *modelMarket) feed(m *market.Market) {
	n := w.settings.Ordinal
	m.PutMarketplace(&w.settings)
	for _, id := range slices.Sorted(maps.Keys(w.categories)) {
		m.PutCategory(n, new(w.categories[id]))
	}
	for _, id := range slices.Sorted(maps.Keys(w.products)) {
		m.PutProduct(n, new(w.products[id]))
	}
	for _, id := range slices.Sorted(maps.Keys(w.campaigns)) {
		w.campaigns[id].feed(m)
	}
	for key, b := range w.bids {
		m.PutBid(&w.campaigns[key.campaign].Campaign, &b)
	}
	for _, x := range w.slots {
		m.PutMediaSlot(n, &x)
	}
	for _, x := range w.placements {
		m.PutPlacement(n, &x)
	}
	for _, x := range w.assets {
		m.PutAsset(n, &x)
	}
	for id, users := range w.segments {
		m.PutSegment(n, id, users)
	}
	for cell, counts := range w.bought {
		m.PutPurchases(cell.group, &cell.PurchaseCell, counts)
	}
	for cell, counts := range w.clicks {
		m.PutClickRate(cell.group, &cell.ClickCell, counts)
	}
}

func (c *campaign) feed(m *market.Market) {
	c.slot = m.PutCampaign(&c.Campaign)
	c.publish()
}

// publish stores the balances where auctions read them.
func (c *campaign) publish() {
	c.slot.BudgetLeft.Store(int64(c.left))
	c.slot.WalletBalance.Store(int64(c.wallet))
	c.slot.Hold.Store(int64(c.hold))
	c.slot.WalletHold.Store(int64(c.walletHold))
	c.slot.Pacing.Store(c.pacingState())
}

func (c *campaign) pacingState() uint64 {
	if c.pacing == 0 {
		return pacing.Open
	}
	return c.pacing
}

// campaign adds a campaign with money. Its group and id follow from its number.
func (w *modelMarket) campaign(name, vendor string, number uint32) *campaign {
	group := ids.Group(1 + number%3)
	c := &campaign{left: math.MaxInt64, wallet: math.MaxInt64, Campaign: model.Campaign{
		ID: ids.Mint(int64(number), [10]byte{9: byte(number)}, ids.Shard(group-1)), Name: name, Ordinal: number/3 + 1,
		Group: group, Marketplace: w.settings.Ordinal, VendorID: vendor, Charge: model.CPC,
		Active: true, Status: model.Approved,
	}}
	w.campaigns[name] = c
	return c
}

// query is an auction request as plain values.
type query struct {
	kind       auction.Kind // 0: listings.
	slots      int
	products   []string
	variations []string // Flights.
	quality    []uint32
	form       auction.CategoryForm
	clauses    [][]string // OneCategory has one clause of one name, AllCategories one clause for each name.
	hasSearch  bool
	search     string
	locations  []string
	or         bool
	attributes []string
	promotions []string
	external   []externalBid
	place      string // Media slot or placement.
	device     auction.Device
	user       uint64
	site       string
	experiment uint8
}

type externalBid struct {
	source, product string
	amount          money.Micros
}

// layout writes texts into a request as the parser does.
type layout struct{ *auction.Request }

func (l layout) span(text string) auction.Span {
	at := uint32(len(l.Body))
	l.Body = append(l.Body, text...)
	return auction.Span{Off: at, Len: uint32(len(text))}
}

func (l layout) id(text string) auction.ID {
	return auction.ID{Hash: market.Hash(l.Seed, []byte(text)), Span: l.span(text)}
}

func (l layout) all(texts []string) (list []auction.ID) {
	for _, text := range texts {
		list = append(list, l.id(text))
	}
	return list
}

// requestFor hashes and lays out queries as the parser does.
func requestFor(v *market.View, marketplace uint16, queries ...query) *auction.Request {
	req := &auction.Request{Seed: v.Seed(marketplace), Auctions: make([]auction.Auction, len(queries))}
	l := layout{req}
	for i, q := range queries {
		a := &req.Auctions[i]
		a.Kind, a.Slots = max(q.kind, auction.Listings), q.slots
		a.HasProducts, a.Products, a.Quality = len(q.products) > 0, l.all(q.products), q.quality
		a.Variations = l.all(q.variations)
		a.HasSearch, a.Search = q.hasSearch, l.span(q.search)
		a.SlotID, a.Device, a.User, a.Site, a.PlacementIndex = l.id(q.place), q.device, q.user, l.span(q.site), q.experiment
		a.Category.Form = q.form
		for _, clause := range q.clauses {
			a.Category.IDs = append(a.Category.IDs, l.all(clause)...)
			if q.form == auction.Disjunctions {
				a.Category.Ends = append(a.Category.Ends, len(a.Category.IDs))
			}
		}
		for _, text := range q.locations {
			a.Locations = append(a.Locations, auction.ID{
				Hash: market.Hash(req.Seed, market.AppendFold(nil, []byte(text))), Span: l.span(text),
			})
		}
		a.Filter = auction.Filter{
			Set: len(q.attributes)+len(q.promotions) > 0, Or: q.or,
			Attributes: l.all(q.attributes), Promotions: l.all(q.promotions),
		}
		for _, b := range q.external {
			a.HasExternal = true
			a.External = append(a.External, auction.ExternalBid{Product: l.id(b.product), Source: l.span(b.source), Amount: b.amount})
		}
	}
	return req
}

// outcome is a result as plain values.
type outcome struct {
	winners []win
	lost    [auction.Reasons]uint32
	losers  map[*campaign]auction.Reason // The campaigns that lost the auction, each with the reason of the bid that came furthest.
}

// lose notes that a bid of a campaign lost; nil for external demand.
func (o *outcome) lose(c *campaign, reason auction.Reason) {
	if c == nil {
		return
	}
	if o.losers == nil {
		o.losers = map[*campaign]auction.Reason{}
	}
	o.losers[c] = max(o.losers[c], reason)
}

type win struct {
	kind      model.TargetType
	id        string
	variation string
	campaign  string // The campaign's id, empty for external demand.
	source    string
	price     money.Micros
	expected  money.Micros
	shows     string // Assets of a banner, or the contents of a sponsored brand.
}

func outcomeOf(r *auction.Result) outcome {
	o := outcome{lost: r.Lost}
	for _, w := range r.Winners {
		x := win{
			kind: w.Type, id: string(w.ID), variation: string(w.Variation), source: string(w.DemandSource), price: w.Price, expected: w.Expected,
		}
		if w.Campaign != nil {
			x.campaign = string(w.Campaign[:])
		}
		switch r.Type {
		case auction.BannersResult:
			for _, a := range w.Assets {
				x.shows += fmt.Sprintf("%s %s;", a.URL.Bytes, a.Content)
			}
		case auction.BrandResult:
			x.shows = fmt.Sprintf("%s %s %s", w.Vendor.Bytes, w.Title.Bytes, w.Content)
			for _, p := range w.Products {
				x.shows += " " + string(p.Bytes)
			}
		default:
			if w.Shown != nil {
				x.shows = "what no product shows"
			}
		}
		o.winners = append(o.winners, x)
	}
	return o
}

// ring signs the tokens of tests.
var ring = bidid.NewKeyring([]bidid.Key{{ID: 7, Key: [16]byte{1, 2, 3}}})

func params(now int64, seq uint64) *auction.Params {
	return &auction.Params{NowMillis: now, Marketplace: 1, Node: 2, Epoch: 3, Seq: seq, Signer: bidid.NewSigner(ring)}
}
