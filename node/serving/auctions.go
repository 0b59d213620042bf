package serving

import (
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/wire"
	"github.com/gavel-ads/gavel/shard/auction"
)

// auctions answers POST /v2/auctions. It reads one view from beginning to end, so all auctions of a request see the same
// market; it takes no lock, waits for nothing and changes nothing but counters.
func (c *Core) auctions(sc *Scratch, r *Request) (code apierr.Code) {
	defer sc.caught(&code)
	view := c.View()
	m, code := sc.admit(view, r, c.AuctionBodyMax)
	if code != apierr.OK {
		return code
	}
	own := view.OwnDemand(m.Ordinal)

	sc.request.Body, sc.request.Seed = r.Body, view.Seed(m.Ordinal)
	if code = wire.ParseAuctions(&sc.request, &sc.fault); code != apierr.OK {
		return sc.refuseFault(code)
	}
	if code = wire.CheckDemand(&sc.request, &m.ExternalDemand, &sc.fault); code != apierr.OK {
		return sc.refuseFault(code)
	}
	keyring := c.Keyring()
	if keyring == nil {
		return sc.refuse(apierr.ServiceUnavailable, "")
	}

	sc.ticket = auction.Ticket{
		NowMillis: r.Now.UnixMilli(), Marketplace: m.Ordinal, Node: c.Node, Epoch: c.Epoch,
		Seq: sc.numbers(len(sc.request.Auctions)), Signer: sc.sign(keyring),
	}
	for sc.fence(c, r.Now); ; {
		auction.Run(view, &sc.ticket, &sc.request, &sc.results, &sc.auction)
		sc.Body = wire.AppendResults(sc.Body[:0], &sc.request, &sc.results, own)
		if !sc.outdated(c) {
			break
		}
	}
	sc.countAuctions()
	return apierr.OK
}

// fence takes the campaigns of stale groups out of the auctions that follow.
func (sc *Scratch) fence(c *Core, at time.Time) {
	sc.stale = auction.Groups{}
	if c.Stale != nil && c.Stale(at, &sc.stale) {
		sc.ticket.Stale = &sc.stale
	}
}

// outdated reports, when the answer is ready to be sent, whether a group turned stale while it was made: the process may
// have been stopped in between for any time. Then the auctions run again without it. BOUND: each time with one group less.
func (sc *Scratch) outdated(c *Core) bool {
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

func (sc *Scratch) countAuctions() {
	winners, lost := 0, [auction.Reasons]uint32{}
	for i := range sc.results.Results {
		result := &sc.results.Results[i]
		winners += len(result.Winners)
		for reason, n := range &result.Lost {
			lost[reason] += n
		}
	}
	sc.stripe.Auctions(len(sc.results.Results), winners, lost[:])
}
