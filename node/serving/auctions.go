package serving

import (
	"bytes"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/wire"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// The three operations on auctions differ only in the parser of their bodies.

func (c *Core) auctions(sc *Scratch, r *Request) apierr.Code {
	return c.runAuctions(sc, r, "auctions")
}

func (c *Core) brands(sc *Scratch, r *Request) apierr.Code {
	return c.runAuctions(sc, r, "sponsored-brand")
}

func (c *Core) travel(sc *Scratch, r *Request) apierr.Code { return c.runAuctions(sc, r, "travel") }

// parser parses a body of auctions.
type parser func(*auction.Request, *wire.Fault) apierr.Code

// parseFor parses the body of a request for auctions and checks all rules of the interface, with those of the marketplace.
func parseFor(m *model.Marketplace, operation string, r *auction.Request, f *wire.Fault) apierr.Code {
	if code := parserOf(operation)(r, f); code != apierr.OK {
		return f.InMarketplace(m)
	}
	return wire.CheckMarketplace(r, m, f)
}

// runAuctions answers a request for auctions. It reads one view from beginning to end, so all auctions of a request see the
// same market. It takes no lock, does not block and changes nothing but counters and the campaigns' own totals.
func (c *Core) runAuctions(sc *Scratch, r *Request, operation string) (code apierr.Code) {
	defer sc.recoverPanic(&code)
	view := c.View()
	m, code := sc.checkRequest(view, r, c.AuctionBodyMax)
	if code != apierr.OK {
		return code
	}
	own := view.OwnDemand(m.Ordinal)

	sc.request.Body, sc.request.Seed, sc.request.TagFilter = r.Body, view.Seed(m.Ordinal), view.ProductFilter()
	if code = parseFor(m, operation, &sc.request, &sc.fault); code != apierr.OK {
		return sc.refuseFault(code)
	}
	keyring, secret := c.Keyring(), c.Secret()
	if keyring == nil || secret == nil {
		return sc.refuse(apierr.ServiceUnavailable, "")
	}
	sc.hasher.secret, sc.hasher.marketplace = secret, m.Ordinal
	hashUsers(&sc.request, &sc.hasher)

	sc.ticket = auction.Params{
		NowMillis: r.Now.UnixMilli(), Marketplace: m.Ordinal, Node: c.Node, Epoch: c.Epoch,
		Seq: sc.numbers(len(sc.request.Auctions)), Signer: sc.sign(keyring),
		OffsetSeconds: c.offset(m, r.Now), Frequency: c.Frequency,
	}
	sc.ticket.LossWeight = lossWeight(view, sc.ticket.Seq)
	for sc.excludeStale(c, r.Now); ; {
		auction.Run(view, &sc.ticket, &sc.request, &sc.results, &sc.auction)
		sc.Body = wire.AppendResults(sc.Body[:0], &sc.request, &sc.results, own)
		if !sc.becameStale(c) {
			break
		}
	}
	auction.RecordWins(view, &sc.results)
	auction.RecordLosses(view, &sc.results)
	auction.RecordEnrolments(view, &sc.results, sc.ticket.NowMillis)
	sc.countAuctions(view, m.Ordinal)
	if c.recent != nil && sc.sampled(c.recent) {
		c.recorder.record(sc, m.Ordinal, operation)
		c.recent.explainAsync(sc, view, m, operation, secret)
	}
	return apierr.OK
}

// lossWeight returns how many times each loser of a request counts for its campaign: w for one of w requests, chosen by the
// number of its first auction, and 0 for the others.
func lossWeight(view *market.View, seq uint64) uint32 {
	const salt = 0x6c6f73736573 // Other choices by the same number must not depend on this one.
	w := view.LossWeight()
	if w > 1 && market.Mix(salt, seq)%uint64(w) != 0 {
		return 0
	}
	return w
}

// hashUsers sets the user hash of each auction, the same hash that events and segments use. It hashes equal ids in a row
// once, because storefronts send one user in all auctions of a request.
func hashUsers(req *auction.Request, h *hasher) {
	var last []byte
	var hash uint64
	for i := range req.Auctions {
		a := &req.Auctions[i]
		if a.UserID.Len == 0 {
			continue
		}
		if id := req.Text(a.UserID); hash == 0 || !bytes.Equal(id, last) {
			last, hash = id, h.user(id)
		}
		a.User = hash
	}
}

// offset returns the offset of the marketplace's time zone from UTC, in seconds.
func (c *Core) offset(m *model.Marketplace, at time.Time) int32 {
	if m.TimeZone == "" || m.TimeZone == "UTC" {
		return 0
	}
	location := c.Location(m.Ordinal)
	if location == nil {
		return 0
	}
	_, seconds := at.In(location).Zone()
	return int32(seconds) // At most a day.
}

// excludeStale excludes the campaigns of groups that are stale at a time from the auctions that follow.
func (sc *Scratch) excludeStale(c *Core, at time.Time) {
	sc.stale = auction.Groups{}
	if c.Stale != nil && c.Stale(at, &sc.stale) {
		sc.ticket.Stale = &sc.stale
	}
}

// becameStale is called when the answer is ready. It reports whether another group has become stale since the auctions
// began, because the process may have been stopped in between for any time. Then the auctions run again without the
// campaigns of that group. BOUND: each repetition has at least one group less.
func (sc *Scratch) becameStale(c *Core) bool {
	sc.answered = time.Now()
	if c.Stale == nil {
		return false
	}
	before := sc.stale
	if !c.Stale(sc.answered, &sc.stale) || sc.stale == before {
		return false
	}
	sc.ticket.Stale = &sc.stale
	return true
}

// countAuctions counts the auctions of the request, for metrics and for the traffic by which campaigns are paced.
func (sc *Scratch) countAuctions(view *market.View, marketplace uint16) {
	winners, lost := 0, [auction.Reasons]uint32{}
	for i := range sc.results.Results {
		result := &sc.results.Results[i]
		winners += len(result.Winners)
		for reason, n := range &result.Lost {
			lost[reason] += n
		}
	}
	sc.stripe.Auctions(len(sc.results.Results), winners, lost[:])
	all := sc.request.Auctions
	for from := 0; from < len(all); { // Auctions of one format are usually neighbours, and then counted together.
		format, to := all[from].Kind.Format(), from+1
		for to < len(all) && all[to].Kind.Format() == format {
			to++
		}
		view.CountAuctions(marketplace, format, sc.trafficStripe, uint64(to-from)) // Above 0.
		from = to
	}
}
