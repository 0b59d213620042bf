package scenarios

import (
	"context"
	"math/rand/v2"

	"github.com/gavel-ads/gavel/bench/traffic"
)

// auctionsPerReport is how many auction requests the mixed scenario sends between two bodies of events: a storefront reports in batches
// what it showed.
const auctionsPerReport = 4

// clickShare is the share of shown winners that are clicked. Real shops see 0.4 to 3 %. It is larger here, so that charging has a visible
// part in a short run.
const clickShare = 0.10

// mixed is the back end of a storefront: it sends the auctions of pages, and after every auctionsPerReport of them one body of events with
// the impressions of their winners and some clicks.
type mixed struct {
	shares []share
	env    *Env
	pages  *pages
}

func (s *mixed) Prepare(_ context.Context, env *Env) (err error) {
	s.env = env
	s.pages, err = preparePages(env, s.shares)
	return err
}

func (s *mixed) Worker(i int) Worker {
	return &mixedWorker{
		pages: s.pages, perBody: s.env.Events, writer: newWriter(s.env, i), r: traffic.New(s.env.Seed, 10_000+uint64(i)),
	}
}

type mixedWorker struct {
	pages   *pages
	perBody int
	writer  *writer
	r       *rand.Rand
	since   int    // Auction requests since the last report.
	text    []byte // The tokens of winners that are not reported yet, one after the other.
	ends    []int  // The end of each token in text.
}

func (w *mixedWorker) Next(r *Request) bool {
	if w.since < auctionsPerReport || len(w.ends) == 0 {
		w.since++
		w.pages.take(r)
		return true
	}
	w.since = 0
	w.report(r)
	return true
}

// report reports all winners since the last report as impressions, and some of them as clicks.
func (w *mixedWorker) report(r *Request) {
	w.writer.begin()
	begin := 0
	for _, end := range w.ends {
		w.writer.impression(w.text[begin:end])
		begin = end
	}
	begin = 0
	for _, end := range w.ends {
		if w.r.Float64() < clickShare {
			w.writer.click(w.text[begin:end])
		}
		begin = end
	}
	w.writer.finish(r)
	w.text, w.ends = w.text[:0], w.ends[:0]
}

// Answer keeps winners up to the size of a report, as a storefront shows no more than its page has room for.
func (w *mixedWorker) Answer(r *Request, answer []byte) {
	if !IsAuction(r.Path) {
		return
	}
	eachToken(answer, func(token []byte) {
		if len(w.ends) < w.perBody {
			w.text = append(w.text, token...)
			w.ends = append(w.ends, len(w.text))
		}
	})
}
