package auction_test

import (
	"maps"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// world is a market as plain values: what tests write down, what they feed the engine, and what the naive model reads.
type world struct {
	settings   market.Marketplace
	categories map[string]market.Category
	products   map[string]market.Product
	campaigns  map[string]*campaign
	bids       map[bidKey]market.Bid // Without the deleted ones.
	stale      *auction.Groups       // nil: none.
}

type campaign struct {
	market.Campaign
	left, wallet money.Micros
	slot         *market.Slot
}

// bidKey names a bid: its campaign's name and its ordinal.
type bidKey struct {
	campaign string
	ordinal  uint32
}

func newWorld() *world {
	return &world{
		settings:   market.Marketplace{Ordinal: 1, CurrencyExponent: 2, ExternalDemand: market.ExternalDemand{OwnValue: "gavel"}},
		categories: map[string]market.Category{},
		products:   map[string]market.Product{},
		campaigns:  map[string]*campaign{},
		bids:       map[bidKey]market.Bid{},
	}
}

// feed puts the whole world into a market, in the order of names.
func (w *world) feed(m market.Feed) {
	m.PutMarketplace(&w.settings)
	for _, id := range slices.Sorted(maps.Keys(w.categories)) {
		m.PutCategory(w.settings.Ordinal, new(w.categories[id]))
	}
	for _, id := range slices.Sorted(maps.Keys(w.products)) {
		m.PutProduct(w.settings.Ordinal, new(w.products[id]))
	}
	for _, id := range slices.Sorted(maps.Keys(w.campaigns)) {
		w.campaigns[id].feed(m)
	}
	for key, b := range w.bids {
		m.PutBid(&w.campaigns[key.campaign].Campaign, &b)
	}
}

func (c *campaign) feed(m market.Feed) {
	c.slot = m.PutCampaign(&c.Campaign)
	c.slot.Left.Store(int64(c.left))
	c.slot.Wallet.Store(int64(c.wallet))
}

// campaign adds a campaign with money, in a group and with an id made from its number.
func (w *world) campaign(name, vendor string, number uint32) *campaign {
	group := ids.Group(1 + number%3)
	c := &campaign{left: math.MaxInt64, wallet: math.MaxInt64, Campaign: market.Campaign{
		ID: ids.Mint(int64(number), [10]byte{9: byte(number)}, ids.Shard(group-1)), Name: name, Ordinal: number/3 + 1,
		Group: group, Marketplace: w.settings.Ordinal, VendorID: vendor, Charge: market.CPC,
		Active: true, Status: market.Approved,
	}}
	w.campaigns[name] = c
	return c
}

// query is an auction request as plain values.
type query struct {
	slots      int
	products   []string
	quality    []uint32
	form       auction.CategoryForm
	clauses    [][]string // One clause of one name for OneCategory, one each for AllCategories.
	search     bool
	locations  []string
	or         bool
	attributes []string
	promotions []string
	external   []externalBid
}

type externalBid struct {
	source, product string
	amount          money.Micros
}

// requestFor hashes and lays out queries as the parser would.
func requestFor(v *market.View, marketplace uint16, queries ...query) *auction.Request {
	req := &auction.Request{Seed: v.Seed(marketplace), Auctions: make([]auction.Auction, len(queries))}
	span := func(text string) auction.Span {
		at := uint32(len(req.Body))
		req.Body = append(req.Body, text...)
		return auction.Span{Off: at, Len: uint32(len(text))}
	}
	id := func(text string) auction.ID {
		return auction.ID{Hash: market.Hash(req.Seed, []byte(text)), Span: span(text)}
	}
	all := func(texts []string) (list []auction.ID) {
		for _, text := range texts {
			list = append(list, id(text))
		}
		return list
	}
	for i, q := range queries {
		a := &req.Auctions[i]
		a.Kind, a.Slots = auction.Listings, q.slots
		a.HasProducts, a.Products, a.Quality = len(q.products) > 0, all(q.products), q.quality
		a.HasSearch = q.search
		a.Category.Form = q.form
		for _, clause := range q.clauses {
			a.Category.IDs = append(a.Category.IDs, all(clause)...)
			if q.form == auction.Disjunctions {
				a.Category.Ends = append(a.Category.Ends, len(a.Category.IDs))
			}
		}
		for _, text := range q.locations {
			a.Locations = append(a.Locations, auction.ID{
				Hash: market.Hash(req.Seed, market.AppendFold(nil, []byte(text))), Span: span(text),
			})
		}
		a.Filter = auction.Filter{
			Set: len(q.attributes)+len(q.promotions) > 0, Or: q.or,
			Attributes: all(q.attributes), Promotions: all(q.promotions),
		}
		for _, b := range q.external {
			a.HasExternal = true
			a.External = append(a.External, auction.ExternalBid{Product: id(b.product), Source: span(b.source), Amount: b.amount})
		}
	}
	return req
}

// outcome is a result as plain values.
type outcome struct {
	winners []win
	lost    [auction.Reasons]uint32
}

type win struct {
	product  string
	campaign string // The campaign's id, empty for external demand.
	source   string
	price    money.Micros
}

func outcomeOf(r *auction.Result) outcome {
	o := outcome{lost: r.Lost}
	for _, w := range r.Winners {
		x := win{product: string(w.ID), source: string(w.DemandSource), price: w.Price}
		if w.Campaign != nil {
			x.campaign = string(w.Campaign[:])
		}
		o.winners = append(o.winners, x)
	}
	return o
}

// ring signs the tokens of tests.
var ring = bidid.NewKeyring([]bidid.Key{{ID: 7, Key: [16]byte{1, 2, 3}}})

func ticket(now int64, seq uint64) *auction.Ticket {
	return &auction.Ticket{NowMillis: now, Marketplace: 1, Node: 2, Epoch: 3, Seq: seq, Signer: bidid.NewSigner(ring)}
}
