package store

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// A reversal gives back what a campaign was charged: all or a part of one charge, or an amount of no single charge. The
// state machine decides; this file reads what it has to be asked for. Reports lose the amount where it was counted: that of
// a charge in its own hour, other amounts in the newest hours that have it.

// ErrExceedsCharge means that more would be given back than was charged and not given back yet.
var ErrExceedsCharge = errors.New("exceeds the charge")

// About says why something is reversed, and who asked for it.
type About struct {
	Reason command.Reason
	Author string
	Note   string
}

// ChargeName names the charge of a token (serving.TokenCharge).
type ChargeName struct {
	Group    ids.Group
	Campaign uint32
	Kind     event.Kind
	Hour     uint32
	Key      [16]byte
}

// ReverseCharge gives back an amount of a charge, 0 for all that was not given back yet. ErrNotFound means that the charge
// is not known: there was none, or it is so old that its charge key is forgotten.
func (t Tenant) ReverseCharge(ctx context.Context, n ChargeName, amount money.Micros, about About) (shard.Reversal, error) {
	var charge shard.Charge
	campaign, err := readOne(t, n.Group, func(b shard.Queries) (c shard.CampaignState, found bool) {
		if charge, found = b.ChargeOf(n.Kind, n.Hour, n.Key); !found {
			return c, false
		}
		c, found = b.CampaignByOrdinal(charge.Campaign)
		return c, found && c.Marketplace == t.marketplace && charge.Campaign == n.Campaign
	})
	if err != nil {
		return shard.Reversal{}, err
	}
	x := t.newReversal(ctx, campaign.ID, about)
	if r, err := t.Reversal(ctx, x.ID); err == nil || !errors.Is(err, ErrNotFound) {
		markRepeated(ctx)
		return r, err
	}
	if amount == 0 {
		amount = charge.Amount - charge.Reversed
	}
	if amount <= 0 || amount > charge.Amount-charge.Reversed {
		return shard.Reversal{}, ErrExceedsCharge
	}
	x.Line, x.Charged, x.Wallet = charge.Seq, charge.Amount, charge.Wallet
	x.Parts = []command.ReversalPart{{Cell: charge.Cell, Bid: charge.Bid, Kind: n.Kind, Product: charge.Product, Amount: amount}}
	// Another reversal may have taken the amount out of the same hour of the reports, without naming this charge.
	if err := t.proposeReversal(ctx, n.Group, &x); errors.Is(err, ErrChanged) {
		return shard.Reversal{}, ErrExceedsCharge
	} else if err != nil {
		return shard.Reversal{}, err
	}
	return t.Reversal(ctx, x.ID)
}

// ReverseAmount gives back an amount of what a campaign was charged, of no single charge. ErrTooMany means that the amount
// was charged in more hours and bids than command.ReversalPartsMax.
func (t Tenant) ReverseAmount(ctx context.Context, campaign ids.UUID, amount money.Micros, about About) (shard.Reversal, error) {
	x := t.newReversal(ctx, campaign, about)
	if r, err := t.Reversal(ctx, x.ID); err == nil || !errors.Is(err, ErrNotFound) {
		markRepeated(ctx)
		return r, err
	}
	g := t.store.Groups.GroupOf(ids.ShardOf(campaign))
	for range maxAttempts {
		all, err := readOne(t, g, func(b shard.Queries) (parts []command.ReversalPart, found bool) {
			c, found := b.Campaign(campaign)
			if found = found && c.Marketplace == t.marketplace; found && amount <= c.Money.SpentTotal {
				parts = newestSpent(b, campaign, amount)
			}
			return parts, found
		})
		if err != nil {
			return shard.Reversal{}, err
		}
		if x.Parts, err = newestParts(all, amount); err != nil {
			return shard.Reversal{}, err
		}
		if err = t.proposeReversal(ctx, g, &x); err == nil {
			return t.Reversal(ctx, x.ID)
		} else if !errors.Is(err, ErrChanged) {
			return shard.Reversal{}, err
		}
	}
	return shard.Reversal{}, ErrChanged
}

func (t Tenant) newReversal(ctx context.Context, campaign ids.UUID, a About) command.Reverse {
	return command.Reverse{
		ID: t.mint(ctx, ids.ShardOf(campaign)), Marketplace: t.marketplace, Campaign: campaign,
		Reason: a.Reason, Author: a.Author, Note: a.Note,
	}
}

func (t Tenant) proposeReversal(ctx context.Context, g ids.Group, x *command.Reverse) error {
	_, err := t.propose(ctx, g, command.AppendReverse(nil, t.now(), x))
	return err
}

// Reversal returns a stored reversal, or ErrNotFound.
func (t Tenant) Reversal(_ context.Context, id ids.UUID) (shard.Reversal, error) {
	return readOne(t, t.store.Groups.GroupOf(ids.ShardOf(id)), func(b shard.Queries) (shard.Reversal, bool) {
		r, found := b.Reversal(id)
		return r, found && r.Marketplace == t.marketplace
	})
}

// newestParts takes an amount from what was spent, from the newest hours first.
func newestParts(all []command.ReversalPart, amount money.Micros) (parts []command.ReversalPart, err error) {
	slices.SortFunc(all, func(a, b command.ReversalPart) int { return a.Compare(&b) })
	for i := len(all) - 1; i >= 0 && amount > 0; i-- {
		p := all[i]
		p.Amount = min(p.Amount, amount)
		amount -= p.Amount
		parts = append(parts, p)
	}
	slices.Reverse(parts)
	switch {
	case len(parts) > command.ReversalPartsMax:
		return nil, ErrTooMany
	case amount > 0:
		return nil, ErrExceedsCharge
	}
	return parts, nil
}

// newestSpent returns what a campaign was charged and was not given back in its newest days: at least an amount, unless it has
// less, or more parts than a reversal may have. BOUND: it reads day by day, and keeps the parts of one day more than it needs.
func newestSpent(b shard.Queries, campaign ids.UUID, amount money.Micros) (all []command.ReversalPart) {
	const day = dayMillis / cellMillis
	from := uint32(max(b.Clock(), 0) / cellMillis) // Cells fit 32 bits.
	for to := uint32(math.MaxUint32); to > 0 && amount > 0 && len(all) <= command.ReversalPartsMax; to = from {
		from -= min(from, day)
		some := spentOf(b, campaign, from, to)
		for i := range some {
			amount -= some[i].Amount
		}
		all = append(all, some...)
	}
	return all
}

// spentOf returns what a campaign was charged and was not given back in cells [from, to), by cell, bid, kind and product.
func spentOf(b shard.Queries, campaign ids.UUID, from, to uint32) (all []command.ReversalPart) {
	sold := make(map[uint32][]command.ReversalPart) // What purchases were charged, by cell and product.
	b.CampaignSaleCells(campaign, from, to, func(s *shard.ProductSales) {
		if s.SpentPurchases > 0 {
			sold[s.Cell] = append(sold[s.Cell], command.ReversalPart{Product: s.Product, Amount: s.SpentPurchases})
		}
	})
	b.CampaignBidCells(campaign, from, to, func(c *shard.BidCell) {
		for _, p := range [...]command.ReversalPart{
			{Kind: event.Click, Amount: c.SpentClicks}, {Kind: event.Impression, Amount: c.SpentImpressions},
		} {
			if p.Cell, p.Bid = c.Cell, c.Bid; p.Amount > 0 {
				all = append(all, p)
			}
		}
		var of []command.ReversalPart
		of, sold[c.Cell] = purchasesOf(&c.Counters, sold[c.Cell])
		for _, p := range of {
			p.Cell, p.Bid, p.Kind = c.Cell, c.Bid, event.Purchase
			all = append(all, p)
		}
	})
	return all
}

// purchasesOf takes what the purchases of a bid were charged from the products of its cell, which have the same sum for all
// bids of the cell.
func purchasesOf(c *rollup.Counters, sold []command.ReversalPart) (of, rest []command.ReversalPart) {
	for left := c.SpentPurchases; left > 0 && len(sold) > 0; {
		p := sold[0]
		p.Amount = min(p.Amount, left)
		of = append(of, p)
		left -= p.Amount
		if sold[0].Amount -= p.Amount; sold[0].Amount == 0 {
			sold = sold[1:]
		}
	}
	return of, sold
}
