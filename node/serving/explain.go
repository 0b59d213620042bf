package serving

import (
	"context"
	cryptorand "crypto/rand"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/background"
	"github.com/gavel-ads/gavel/node/wire"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/market"
)

// ExplainOperations are the operations whose bodies can be explained, by the last part of their paths.
var ExplainOperations = []string{"auctions", "sponsored-brand", "travel"}

func parserOf(operation string) parser {
	switch operation {
	case "auctions":
		return wire.ParseAuctions
	case "sponsored-brand":
		return wire.ParseBrands
	case "travel":
		return wire.ParseTravel
	default:
		return nil
	}
}

// Explain holds the auctions of a body, as the operation would at this moment, and tells what became of every bid. It has
// no effect: no number is taken that a live auction could have, nothing is counted, and the tokens of its winners are
// neither shown nor made with a key that anybody knows. A body that the operation would refuse is refused with the same
// code and message.
//
// It may look at every bid of a large marketplace, and steps the background.Work of its context. err is that of a step; then there is
// no explanation.
func (c *Core) Explain(ctx context.Context, marketplace uint16, operation string, body []byte, now time.Time) (
	e Explanation, code apierr.Code, message string, err error,
) {
	view, secret := c.View(), c.Secret()
	m := view.Marketplace(marketplace)
	switch {
	case secret == nil:
		return e, apierr.ServiceUnavailable, "", nil
	case m == nil || m.Suspended:
		return e, apierr.InvalidMarketplace, "", nil
	case len(body) > c.AuctionBodyMax:
		return e, apierr.BadRequest, "the body is over the limit of this operation", nil
	}
	x := explainer{core: c, view: view, marketplace: m, candidatesMax: explainedMax}
	x.ticket = auction.Ticket{
		NowMillis: now.UnixMilli(), Marketplace: m.Ordinal, Node: c.Node, Epoch: c.Epoch, OffsetSeconds: c.offset(m, now), Frequency: c.Frequency,
	}
	if c.Stale != nil && c.Stale(now, &x.stale) {
		x.ticket.Stale = &x.stale
	}
	if code = x.parse(operation, body, secret); code != apierr.OK {
		return e, code, string(x.fault.AppendMessage(nil)), nil
	}
	e, err = x.explain(ctx, operation)
	return e, apierr.OK, "", err
}

// explainer explains one request, live or asked for.
type explainer struct {
	core          *Core
	view          *market.View
	marketplace   *market.Marketplace
	candidatesMax int // That an auction shows.

	ticket  auction.Ticket
	stale   auction.Groups // What ticket.Stale points to, if anything.
	request auction.Request
	results auction.Results
	scratch auction.Scratch
	fault   wire.Fault
}

func (x *explainer) parse(operation string, body []byte, secret *[32]byte) apierr.Code {
	x.request.Body, x.request.Seed = body, x.view.Seed(x.marketplace.Ordinal)
	if code := parserOf(operation)(&x.request, &x.fault); code != apierr.OK {
		return code
	}
	if code := wire.CheckMarketplace(&x.request, x.marketplace, &x.fault); code != apierr.OK {
		return code
	}
	nameUsers(&x.request, &hasher{secret: secret, marketplace: x.marketplace.Ordinal})
	return apierr.OK
}

// explain holds the auctions and gathers the fates, in steps of one bid. REQUIRES: parse returned OK.
func (x *explainer) explain(ctx context.Context, operation string) (e Explanation, err error) {
	e = Explanation{
		At: time.UnixMilli(x.ticket.NowMillis).UTC().Format(timeFormat), Operation: operation, Auctions: make([]ExplainedAuction, len(x.request.Auctions)),
	}
	work := background.Of(ctx)
	gathered := make([]gathering, len(x.request.Auctions))
	x.ticket.Signer = bidid.NewSigner(nobodysKeys())
	auction.Explain(x.view, &x.ticket, &x.request, &x.results, &x.scratch, func(i int, f *auction.Fate) bool {
		gathered[i].add(x, i, f)
		err = work.Step(ctx)
		return err == nil
	})
	for i := range gathered {
		if err == nil {
			err = work.Step(ctx)
		}
		if err != nil {
			return Explanation{}, err
		}
		e.Auctions[i] = gathered[i].auction(x, i)
	}
	return e, nil
}

// nobodysKeys is a keyring whose tokens no node accepts.
func nobodysKeys() *bidid.Keyring {
	k := bidid.Key{ID: 1}
	_, _ = cryptorand.Read(k.Key[:]) // Never fails: the runtime ends the process instead.
	return bidid.NewKeyring([]bidid.Key{k})
}
