package scenarios

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/gavel-ads/gavel/bench/traffic"
)

// browse simulates many shoppers in browsers, who send small requests one after the other. A visit views the home page and some listings
// with sponsored products (one auction each), reports each shown winner in a request of its own as browser clients do, and
// sometimes clicks one and then views its page or buys.
type browse struct {
	env *Env
}

func (s *browse) Prepare(_ context.Context, env *Env) error {
	if len(env.Products) == 0 {
		return errors.New("a market without products has no shoppers")
	}
	s.env = env
	return nil
}

func (s *browse) Worker(i int) Worker {
	stream := 20_000 + uint64(i)
	return &browseWorker{
		env: s.env, writer: newWriter(s.env, i), r: traffic.New(s.env.Seed, stream),
		auctions: traffic.NewAuctions(s.env.Products, s.env.Seed, stream+1_000),
	}
}

// step is the next action of a shopper in a visit.
type step uint8

const (
	home step = iota
	listing
	show
	look
)

// A listing has up to shownMax sponsored products among listedIDs products, and a visit views up to listingsMax listings.
const (
	shownMax    = 4
	listedIDs   = 30
	listingsMax = 5
)

type browseWorker struct {
	env      *Env
	writer   *writer
	r        *rand.Rand
	auctions *traffic.Auctions
	body     []byte

	step     step
	listings int
	text     []byte // The tokens of the winners of the current listing, one after the other.
	ends     []int  // The end of each token in text.
	shown    int    // How many of them were reported.
}

func (w *browseWorker) Next(r *Request) bool {
	switch w.step {
	case home:
		w.listings = 1 + w.r.IntN(listingsMax)
		w.writer.begin()
		w.writer.pageview("home", "start")
		w.writer.finish(r)
		w.step = listing
	case listing:
		w.text, w.ends, w.shown = w.text[:0], w.ends[:0], 0
		w.body = w.auctions.Append(w.body[:0], 1, listedIDs, shownMax)
		*r = Request{Path: AuctionsPath, Body: w.body}
		w.listings--
		w.step = show
	case show:
		w.showOne(r)
	case look:
		w.lookOrBuy(r)
		w.nextListing()
	}
	return true
}

// showOne reports the next winner of the listing. After the last one the shopper clicks one of them or goes on.
func (w *browseWorker) showOne(r *Request) {
	switch {
	case w.shown < len(w.ends):
		w.writer.begin()
		w.writer.impression(w.token(w.shown))
		w.writer.finish(r)
		w.shown++
	case len(w.ends) > 0 && w.r.Float64() < clickShare:
		w.writer.begin()
		w.writer.click(w.token(w.r.IntN(len(w.ends))))
		w.writer.finish(r)
		w.step = look
	default:
		w.nextListing()
		w.Next(r)
	}
}

// lookOrBuy views the product page, or buys one time in ten.
func (w *browseWorker) lookOrBuy(r *Request) {
	product := w.env.Products[w.r.IntN(len(w.env.Products))]
	w.writer.begin()
	if w.r.Float64() < 0.10 {
		w.writer.purchase(product, 100+w.r.Int64N(20_000))
	} else {
		w.writer.pageview("PDP", product)
	}
	w.writer.finish(r)
}

// nextListing goes to the next listing of the visit, or ends the visit.
func (w *browseWorker) nextListing() {
	w.step = listing
	if w.listings == 0 {
		w.step = home
	}
}

func (w *browseWorker) token(i int) []byte {
	begin := 0
	if i > 0 {
		begin = w.ends[i-1]
	}
	return w.text[begin:w.ends[i]]
}

func (w *browseWorker) Answer(r *Request, answer []byte) {
	if r.Path != AuctionsPath {
		return
	}
	eachToken(answer, func(token []byte) {
		w.text = append(w.text, token...)
		w.ends = append(w.ends, len(w.text))
	})
}
