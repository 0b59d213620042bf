package command

import (
	"cmp"

	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// Reverse gives back what a campaign was charged, or a part of it. It is applied once, however late its ID is repeated.
//
// Line, Charged and Wallet repeat what the proposer read of the charge: lines of the journal and decisions about
// charges never change, and Apply cannot read those of its own batch. Parts name the counters that the amount is taken
// from. The machine checks that they have it, and refuses the command as Conflict otherwise.
type Reverse struct {
	ID          ids.UUID
	Marketplace uint16
	Campaign    ids.UUID
	Line        uint64         // The journal line of the charge; 0: the amount is of no single charge.
	Charged     money.Micros   // The amount of that line; 0 without one.
	Wallet      ids.UUID       // The wallet that the line debited; zero without one: the wallet of the campaign.
	Parts       []ReversalPart // 1 to ReversalPartsMax in strictly ascending order; a single one when Line is not 0.
	Reason      Reason
	Author      string // Who asked for it, as the audit log names them.
	Note        string
}

// Reason says why a charge was reversed.
type Reason uint8

// The reasons. Append only.
const (
	ReasonInvalidTraffic Reason = iota // No interested person was behind the interaction.
	ReasonProductReturn                // The purchase that paid for the ad was returned.
	ReasonBillingError                 // The charge was wrong.
	ReasonGoodwill                     // The charge was right, and the marketplace waives it.
	Reasons              = iota
)

// ReversalPart is an amount in the counters of one bid and cell.
type ReversalPart struct {
	Cell    uint32
	Bid     uint32
	Kind    event.Kind   // What was charged: event.Impression, event.Click or event.Purchase.
	Product string       // The product that was sold; only for a purchase.
	Amount  money.Micros // More than 0.
}

// ReversalPartsMax bounds the parts of a Reverse. BOUND: each has a line in the journal. A larger amount takes several.
const ReversalPartsMax = 1_000

// Amount returns the sum of the parts. ok is false when it is too large for an amount.
func (r *Reverse) Amount() (sum money.Micros, ok bool) {
	for i := range r.Parts {
		if sum, ok = money.Add(sum, r.Parts[i].Amount); !ok {
			return 0, false
		}
	}
	return sum, true
}

var (
	reversals = newTable("reverse",
		fixed("id", uuid, func(r *Reverse) *ids.UUID { return &r.ID }),
		fixed("marketplace", u16[uint16](), func(r *Reverse) *uint16 { return &r.Marketplace }),
		fixed("campaign", uuid, func(r *Reverse) *ids.UUID { return &r.Campaign }),
		fixed("reason", enum[Reason](Reasons), func(r *Reverse) *Reason { return &r.Reason }),
		fixed("author", text, func(r *Reverse) *string { return &r.Author }),
		fixed("note", text, func(r *Reverse) *string { return &r.Note }),
		fixed("parts", list(reversalParts, ReversalPartsMax), func(r *Reverse) *[]ReversalPart { return &r.Parts }),
		optional(0, "line", u64[uint64](), func(r *Reverse) *uint64 { return &r.Line }),
		optional(1, "charged", price, func(r *Reverse) *money.Micros { return &r.Charged }),
		optional(2, "wallet", uuid, func(r *Reverse) *ids.UUID { return &r.Wallet }),
	).checked(validReversal)
	reversalParts = newTable("reversal part",
		fixed("cell", u32[uint32](), func(p *ReversalPart) *uint32 { return &p.Cell }),
		fixed("bid", u32[uint32](), func(p *ReversalPart) *uint32 { return &p.Bid }),
		fixed("kind", enum[event.Kind](int(event.Purchase)+1), func(p *ReversalPart) *event.Kind { return &p.Kind }),
		fixed("amount", price, func(p *ReversalPart) *money.Micros { return &p.Amount }),
		optional(0, "product", text, func(p *ReversalPart) *string { return &p.Product }),
	).checked(func(p *ReversalPart) bool { return p.Amount > 0 && (p.Kind == event.Purchase || p.Product == "") })
)

// Compare orders parts by cell, bid, kind and product.
func (p *ReversalPart) Compare(o *ReversalPart) int {
	return cmp.Or(cmp.Compare(p.Cell, o.Cell), cmp.Compare(p.Bid, o.Bid), cmp.Compare(p.Kind, o.Kind), cmp.Compare(p.Product, o.Product))
}

// validReversal reports whether the members of a Reverse fit together.
func validReversal(r *Reverse) bool {
	ofCharge := r.Line != 0
	if r.ID.IsZero() || len(r.Parts) == 0 || ofCharge != (r.Charged != 0) || ofCharge == r.Wallet.IsZero() || ofCharge && len(r.Parts) > 1 {
		return false
	}
	for i := 1; i < len(r.Parts); i++ {
		if r.Parts[i-1].Compare(&r.Parts[i]) >= 0 {
			return false
		}
	}
	_, ok := r.Amount()
	return ok
}

// AppendReverse appends a Reverse.
func AppendReverse(dst []byte, nowMillis int64, r *Reverse) []byte {
	return appendCommand(dst, OpReverse, nowMillis, reversals, r)
}

// ReadReverse reads a Reverse.
func ReadReverse(c *Command) (Reverse, error) { return readCommand(c, reversals) }
