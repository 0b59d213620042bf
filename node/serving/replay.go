package serving

import (
	"context"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// Replay is how a supposed campaign did in the recorded auctions.
type Replay struct {
	From, To time.Time // All requests in between had the same chance to be recorded.
	Every    uint64    // One in so many was; 0: this node records none.
	Requests int
	Auctions int
	Omitted  int // Drawn requests whose bodies were too large to keep.
	// Won are the requests in which the campaign won something.
	Won []Won
}

// Won is what a campaign won in the auctions of one request.
type Won struct {
	Wins int
	Paid money.Micros // The sum of the prices, each for the interaction that is charged.
}

// Replay holds the recorded auctions of a marketplace once more, in a market where the supposition holds, and tells what its
// campaign wins. They are held by the engine that held them first, under their numbers and at their times, by what
// competitors bid and have left now. It has no effect.
func (c *Core) Replay(ctx context.Context, marketplace uint16, s *market.Supposition, now time.Time) (Replay, apierr.Code) {
	if c.tape == nil || c.Suppose == nil {
		return Replay{From: now, To: now}, apierr.OK
	}
	if c.explaining.Add(1) > explainersMax {
		c.explaining.Add(-1)
		return Replay{}, apierr.ServiceUnavailable
	}
	defer c.explaining.Add(-1)

	all, since := c.tape.of(marketplace)
	r := Replay{From: time.UnixMilli(since), To: now, Every: c.recent.every}
	if len(all) == 0 {
		return r, apierr.OK
	}
	view, secret := c.Suppose(s), c.Secret()
	m := view.Marketplace(marketplace)
	if m == nil || secret == nil {
		return Replay{}, apierr.ServiceUnavailable
	}
	x := explainer{core: c, view: view, marketplace: m}
	signer := bidid.NewSigner(nobodysKeys())
	var own [ids.TextLen]byte
	market.SupposedID.AppendText(own[:0])
	for i := range all {
		if ctx.Err() != nil {
			return Replay{}, apierr.RequestCanceled
		}
		if len(all[i].body) == 0 {
			r.Omitted++
			continue
		}
		x.ticket = all[i].ticket
		x.ticket.Signer = signer
		if x.parse(all[i].operation, all[i].body, secret) != apierr.OK {
			r.Omitted++ // The settings were changed since.
			continue
		}
		r.Requests++
		r.Auctions += len(x.request.Auctions)
		if w := x.wins(&own); w.Wins > 0 {
			r.Won = append(r.Won, w)
		}
	}
	return r, apierr.OK
}

// wins holds the auctions and adds up what a campaign wins.
func (x *explainer) wins(campaign *[ids.TextLen]byte) (w Won) {
	auction.Run(x.view, &x.ticket, &x.request, &x.results, &x.scratch)
	for i := range x.results.Results {
		winners := x.results.Results[i].Winners
		for j := range winners {
			if winners[j].Campaign != nil && *winners[j].Campaign == *campaign {
				w.Wins++
				w.Paid += winners[j].Price
			}
		}
	}
	return w
}
