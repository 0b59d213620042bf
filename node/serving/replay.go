package serving

import (
	"context"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// Replay is the result of a supposed campaign in the recorded auctions.
type Replay struct {
	From, To time.Time // All requests in this period had the same chance to be recorded.
	Every    uint64    // On average one request in Every was recorded; 0 if this node records none.
	Requests int       // The requests that were run again.
	Auctions int       // The auctions of these requests.
	Omitted  int       // The sampled requests whose bodies were too large to record, or are no longer valid.
	// Won has one element for each request in which the campaign won.
	Won []Won
}

// Won is the result of a campaign in the auctions of one request.
type Won struct {
	Wins int
	Paid money.Micros // The sum of the prices, each for the interaction that is charged.
}

// replayBusyMax is how much CPU time one replay takes at most. BOUND: a third of what a marketplace has in a minute by
// default, and what a slow machine needs for a thousand requests; the confidence interval of a forecast from a thousand
// requests is little wider than from ten thousand.
const replayBusyMax = 5 * time.Second

// Replay runs the recorded auctions of a marketplace again, in a market in which the supposition holds, and returns what the
// supposed campaign wins. The engine runs them with their original numbers and times, but with the current bids and
// balances of the competitors. It has no effect.
//
// It begins with the newest request and goes backwards, steps the limits.Work of its context with each, and ends when
// the work has used replayBusyMax of CPU time; then From is later. err is the error of a step, and then r is empty. The
// code is ServiceUnavailable if the marketplace or the cluster's secret is not known yet.
func (c *Core) Replay(ctx context.Context, marketplace uint16, s *market.WhatIf, now time.Time) (r Replay, code apierr.Code, err error) {
	if c.recorder == nil || c.Suppose == nil {
		return Replay{From: now, To: now}, apierr.OK, nil
	}
	all, since := c.recorder.requestsOf(marketplace)
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
	signer, work := bidid.NewSigner(throwawayKeyring()), limits.WorkOf(ctx)
	var own [ids.TextLen]byte
	market.WhatIfCampaignID.AppendText(own[:0])
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

// replay runs the auctions of one recorded request and adds the campaign's wins to r.
func (x *explainer) replay(recorded *recorded, signer *bidid.Signer, secret *[32]byte, own *[ids.TextLen]byte, r *Replay) {
	x.ticket = recorded.ticket
	x.ticket.Signer = signer
	if len(recorded.body) == 0 || x.parse(recorded.operation, recorded.body, secret) != apierr.OK {
		r.Omitted++ // The body was too large to record, or the marketplace's settings have changed so that it is refused.
		return
	}
	r.Requests++
	r.Auctions += len(x.request.Auctions)
	if w := x.wins(own); w.Wins > 0 {
		r.Won = append(r.Won, w)
	}
}

// wins runs the auctions and sums up what a campaign wins.
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
