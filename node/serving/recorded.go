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
	"github.com/gavel-ads/gavel/shard/model"
)

// Recorded are the recorded auctions of a marketplace as traffic for a simulation: which bids could have competed, with
// which amounts and qualities. It contains nothing of the shopper or the shop's page: no user id, query, location,
// product or token.
type Recorded struct {
	From, To      time.Time // All requests in this period had the same chance to be recorded.
	Every         uint64    // On average one request in Every was recorded; 0 if this node records none.
	Omitted       int       // Requests whose bodies were too large to record, or are no longer valid.
	OffsetSeconds int32     // What the marketplace's time zone adds to UTC at To.
	Campaigns     []RecordedCampaign
	Auctions      []RecordedAuction // The newest first.
}

// RecordedCampaign is a campaign that could have competed in a recorded auction.
type RecordedCampaign struct {
	ID     string
	Vendor int // Campaigns of one vendor have the same number.
	Charge model.ChargeType
}

// RecordedAuction is one auction.
type RecordedAuction struct {
	AtMillis int64
	Slots    int
	Format   model.AdFormat
	Bids     []RecordedBid
}

// RecordedBid is a bid that passed every gate but those of money and pacing, or that would have.
type RecordedBid struct {
	Campaign int // Index in Recorded.Campaigns.
	Amount   int64
	Quality  uint32 // In units of 1/model.QualityOne.
}

// Bounds of a Recorded. BOUND: its size in memory and in an answer, about 30 bytes for each bid.
const (
	recordedBidsMax    = 300_000
	recordedAuctionMax = 200 // Bids of one auction; further ones are left out.
)

// Recorded runs the recorded auctions of a marketplace again in the present market and returns who could have
// competed. It begins with the newest request and ends early when the work has used replayBusyMax of CPU time or the
// answer is full; then From is later. It has no effect. The code is ServiceUnavailable if the marketplace or the
// cluster's secret is not known yet; err is the error of a step of the limits.Work of its context.
func (c *Core) Recorded(ctx context.Context, marketplace uint16, now time.Time) (r Recorded, code apierr.Code, err error) {
	view, secret := c.View(), c.Secret()
	m := view.Marketplace(marketplace)
	if m == nil || secret == nil {
		return r, apierr.ServiceUnavailable, nil
	}
	r = Recorded{From: now, To: now, OffsetSeconds: c.offset(m, now)}
	if c.recorder == nil {
		return r, apierr.OK, nil
	}
	all, since := c.recorder.requestsOf(marketplace)
	r.From, r.Every = time.UnixMilli(since), c.recent.every
	x := recordedReader{
		explainer: explainer{core: c, view: view, marketplace: m}, out: &r,
		campaigns: map[[ids.TextLen]byte]int{}, vendors: map[string]int{},
	}
	signer, work := bidid.NewSigner(throwawayKeyring()), limits.WorkOf(ctx)
	for _, a := range slices.Backward(all) {
		if err := work.Step(ctx); err != nil {
			return Recorded{}, apierr.OK, err
		}
		if work.Busy() > replayBusyMax || x.bids > recordedBidsMax {
			r.From = time.UnixMilli(a.ticket.NowMillis)
			break
		}
		x.ticket = a.ticket
		x.ticket.Signer = signer
		if len(a.body) == 0 || x.parse(a.operation, a.body, secret) != apierr.OK {
			r.Omitted++
			continue
		}
		x.read()
	}
	return r, apierr.OK, nil
}

// recordedReader turns requests into recorded auctions.
type recordedReader struct {
	explainer
	out       *Recorded
	campaigns map[[ids.TextLen]byte]int
	vendors   map[string]int
	bids      int
}

// read adds the auctions of the parsed request.
func (x *recordedReader) read() {
	first := len(x.out.Auctions)
	for i := range x.request.Auctions {
		a := &x.request.Auctions[i]
		x.out.Auctions = append(x.out.Auctions, RecordedAuction{AtMillis: x.ticket.NowMillis, Slots: a.Slots, Format: a.Kind.Format()})
	}
	auction.Explain(x.view, &x.ticket, &x.request, &x.results, &x.scratch, func(i int, b *auction.BidExplanation) bool {
		a := &x.out.Auctions[first+i]
		if competes(b) && len(a.Bids) < recordedAuctionMax {
			a.Bids = append(a.Bids, RecordedBid{
				Campaign: x.campaign(b), Amount: int64(b.Adjusted), Quality: uint32(b.Quality / model.QualityOne), // At most QualityOne.
			})
			x.bids++
		}
		return true
	})
}

// competes reports whether an own bid could win if it had money and were not paced.
func competes(b *auction.BidExplanation) bool {
	return b.Campaign != nil && (b.Won || b.Reason >= auction.Stale) && b.Adjusted > 0 && b.Quality > 0
}

// campaign returns the index of a bid's campaign.
func (x *recordedReader) campaign(b *auction.BidExplanation) int {
	if i, known := x.campaigns[*b.Campaign]; known {
		return i
	}
	vendor := string(b.Vendor.Bytes)
	number, known := x.vendors[vendor]
	if !known {
		number = len(x.vendors)
		x.vendors[vendor] = number
	}
	i := len(x.out.Campaigns)
	x.campaigns[*b.Campaign] = i
	x.out.Campaigns = append(x.out.Campaigns, RecordedCampaign{ID: string(b.Campaign[:]), Vendor: number, Charge: b.Charge})
	return i
}
