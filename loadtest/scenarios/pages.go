package scenarios

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"

	"github.com/gavel-ads/gavel/bench/traffic"
)

// The kinds of pages, and the path of travel pages.
const (
	ListingPage = "listings"
	SearchPage  = "search"
	BannerPage  = "banners"
	TravelPage  = "travel"

	TravelPath = AuctionsPath + "/travel"
)

// share says how many of all pages are of a kind, in any unit.
type share struct {
	page   string
	weight int
}

// storefrontPages are the pages of a shop that also sells travel.
var storefrontPages = []share{{ListingPage, 50}, {SearchPage, 25}, {BannerPage, 15}, {TravelPage, 10}}

// page is a prepared request for the ads of a page.
type page struct {
	kind string
	path string
	body []byte
}

// pages is a set of prepared pages that all workers use in turn.
type pages struct {
	all  []page
	next atomic.Uint64
}

// preparePages makes pages of the kinds, at random by their weights. BOUND: as many as auctions has bodies.
func preparePages(env *Env, shares []share) (*pages, error) {
	if len(env.Products) == 0 {
		return nil, errors.New("a market without products has no auctions")
	}
	p, r := &pages{}, traffic.New(env.Seed, 2)
	listings := traffic.NewAuctions(env.Products, env.Seed, 1)
	for total := 0; len(p.all) < bodiesMax && total < bodiesBytesMax; {
		one := page{kind: draw(r, shares), path: AuctionsPath}
		switch one.kind {
		case SearchPage:
			one.body = traffic.AppendSearch(nil, r, env.Slots)
		case BannerPage:
			one.body = traffic.AppendBanners(nil, r)
		case TravelPage:
			one.path, one.body = TravelPath, traffic.AppendTravel(nil, r, env.Slots)
		default:
			one.body = listings.Append(nil, env.Auctions, env.IDs, env.Slots)
		}
		p.all = append(p.all, one)
		total += len(one.body)
	}
	return p, nil
}

// draw returns the page of a share, by weight.
func draw(r *rand.Rand, shares []share) string {
	sum := 0
	for _, s := range shares {
		sum += s.weight
	}
	at := r.IntN(sum)
	for _, s := range shares {
		if at -= s.weight; at < 0 {
			return s.page
		}
	}
	panic("the weights have another sum")
}

// take fills a request with the next page.
func (p *pages) take(r *Request) {
	one := &p.all[p.next.Add(1)%uint64(len(p.all))]
	*r = Request{Path: one.path, Page: one.kind, Body: one.body}
}
