package serving

import (
	"context"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/background"
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
	Omitted  int // Drawn requests whose bodies were too large to keep, or are no longer valid.
	// Won are the requests in which the campaign won something.
	Won []Won
}

// Won is what a campaign won in the auctions of one request.
type Won struct {
	Wins int
	Paid money.Micros // The sum of the prices, each for the interaction that is charged.
}

// replayBusyMax is how much CPU time one replay takes. BOUND: a third of what a marketplace has in a minute by default, and what a
// slow machine needs for a thousand requests; the interval of a forecast from a thousand is little wider than from ten thousand.
const replayBusyMax = 5 * time.Second

// Replay holds the recorded auctions of a marketplace once more, in a market where the supposition holds, and tells what its
// campaign wins. They are held by the engine that held them first, under their numbers and at their times, by what
// competitors bid and have left now. It has no effect.
//
// It goes from the newest request backwards, steps the background.Work of its context with each, and ends when that has taken
// replayBusyMax: then From is later. err is that of a step.
func (c *Core) Replay(ctx context.Context, marketplace uint16, s *market.Supposition, now time.Time) (r Replay, code apierr.Code, err error) {
	if c.tape == nil || c.Suppose == nil {
		return Replay{From: now, To: now}, apierr.OK, nil
	}
	all, since := c.tape.of(marketplace)
	r = Replay{From: time.UnixMilli(since), To: now, Every: c.recent.every}
	if len(all) == 0 {
		return r, apierr.OK, nil
	}
	view, secret := c.Suppose(s), c.Secret()
	m := view.Marketplace(marketplace)
	if m == nil || secret == nil {
		return Replay{}, apierr.ServiceUnavailable, nil
	}
	x := explainer{core: c, view: view, marketplace: m}
	signer, work := bidid.NewSigner(nobodysKeys()), background.Of(ctx)
	var own [ids.TextLen]byte
	market.SupposedID.AppendText(own[:0])
	for i := range slices.Backward(all) {
		if err := work.Step(ctx); err != nil {
			return Replay{}, apierr.OK, err
		}
		if work.Busy() > replayBusyMax {
			r.From = time.UnixMilli(all[i].ticket.NowMillis)
			break
		}
		x.replay(&all[i], signer, secret, &own, &r)
	}
	return r, apierr.OK, nil
}

// replay holds the auctions of one recorded request, and adds what the campaign wins.
func (x *explainer) replay(recorded *recorded, signer *bidid.Signer, secret *[32]byte, own *[ids.TextLen]byte, r *Replay) {
	x.ticket = recorded.ticket
	x.ticket.Signer = signer
	if len(recorded.body) == 0 || x.parse(recorded.operation, recorded.body, secret) != apierr.OK {
		r.Omitted++ // It was too large to keep, or the settings were changed since.
		return
	}
	r.Requests++
	r.Auctions += len(x.request.Auctions)
	if w := x.wins(own); w.Wins > 0 {
		r.Won = append(r.Won, w)
	}
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
