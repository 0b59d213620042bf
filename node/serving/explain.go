package serving

import (
	"context"
	cryptorand "crypto/rand"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/wire"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
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

// Explain runs the auctions of a body as the operation would at the time now, and returns the outcome of every bid with its
// reason. It has no effect: it uses no number that a live auction could have, counts nothing, and makes the tokens of the
// winners with a key that is thrown away and does not return them. A body that the operation would refuse is refused with
// the same code and message.
//
// It may read every bid of a large marketplace, and steps the limits.Work of its context. err is the error of a step;
// then there is no explanation.
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
	x.ticket = auction.Params{
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

// explainer explains one request: a sampled one, or the body of a call of Explain. Replay uses it too.
type explainer struct {
	core          *Core
	view          *market.View
	marketplace   *model.Marketplace
	candidatesMax int // How many candidates of an auction are listed at most, winners excepted.

	ticket  auction.Params
	stale   auction.Groups // The target of ticket.Stale, unless that is nil.
	request auction.Request
	results auction.Results
	scratch auction.Scratch
	fault   wire.Fault
}

func (x *explainer) parse(operation string, body []byte, secret *[32]byte) apierr.Code {
	x.request.Body, x.request.Seed = body, x.view.Seed(x.marketplace.Ordinal)
	if code := parseFor(x.marketplace, operation, &x.request, &x.fault); code != apierr.OK {
		return code
	}
	hashUsers(&x.request, &hasher{secret: secret, marketplace: x.marketplace.Ordinal})
	return apierr.OK
}

// explain runs the auctions and gathers the explanation of each bid, in steps of one bid. REQUIRES: parse returned OK.
func (x *explainer) explain(ctx context.Context, operation string) (e Explanation, err error) {
	e = Explanation{
		At: time.UnixMilli(x.ticket.NowMillis).UTC().Format(timeFormat), Operation: operation, Auctions: make([]ExplainedAuction, len(x.request.Auctions)),
	}
	work := limits.WorkOf(ctx)
	gathered := make([]gathering, len(x.request.Auctions))
	x.ticket.Signer = bidid.NewSigner(throwawayKeyring())
	auction.Explain(x.view, &x.ticket, &x.request, &x.results, &x.scratch, func(i int, f *auction.BidExplanation) bool {
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

// throwawayKeyring returns a keyring with a random key. No node accepts its tokens.
func throwawayKeyring() *bidid.Keyring {
	k := bidid.Key{ID: 1}
	_, _ = cryptorand.Read(k.Key[:]) // Read never returns an error: the runtime ends the process instead.
	return bidid.NewKeyring([]bidid.Key{k})
}
