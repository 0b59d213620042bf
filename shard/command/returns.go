package command

import (
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// A return names the purchase whose products came back, so it goes to the group of the purchase. That group takes the
// products out of the counters of the purchase when it applies the Events command, and knows how many of each item came
// back so far. When items were credited to touches, ApplyReturns then tells the groups of the touches these sums, and
// CloseReturns records that all of them know. Sums only grow, so every step may be repeated, and in any order.

// Purchase is a purchase as its group keeps it, for as long as products of it may be returned. From LevelModels on it holds
// what its credits followed from, once they are decided.
type Purchase struct {
	Marketplace    uint16
	OpenedMillis   int64 // The state clock at its commit: PurchaseName.OpenedMillis.
	OccurredMillis int64
	Cell           uint32   // With Campaign and Bid, the counters in which it was counted.
	Campaign       ids.UUID // Zero: those of no campaign.
	Bid            uint32
	Items          []SoldItem
	// Buyer is the hash of the user, 0 before the purchase is decided, after the user was erased, and when the marketplace does not
	// keep its users' touches that long. Attribution names the rules of the decision; it has no meaning without Buyer.
	Buyer       uint64
	Attribution model.Attribution
}

// SoldItem is an item of a Purchase.
type SoldItem struct {
	ProductID string
	Quantity  int64
	UnitPrice money.Micros
	Other     bool      // It was counted under another name than its own, because the catalog does not have it.
	Returned  int64     // How many came back; at most Quantity.
	Credit    ids.Group // The group of the touch that it was credited to; 0 while there is none.
	VendorID  string    // The seller that the purchase names; empty without Purchase.Buyer.
}

// ApplyReturns takes back what was credited. A credit that is unknown, or of which as many were taken back, is skipped.
type ApplyReturns struct {
	Returns []ItemReturn
}

// ItemReturn says how many of a credited item came back so far.
type ItemReturn struct {
	Purchase PurchaseName
	Item     uint16
	Quantity int64 // More than 0.
}

// CloseReturns says that the returns of purchases are carried out. One of which more came back since stays open.
type CloseReturns struct {
	Purchases []ReturnedPurchase // At most CreditsMax.
}

// ReturnedPurchase is a purchase and how many pieces of all its items came back.
type ReturnedPurchase struct {
	Purchase PurchaseName
	Quantity int64
}

var (
	purchases = newTable("purchase",
		fixed("marketplace", u16[uint16](), func(p *Purchase) *uint16 { return &p.Marketplace }),
		fixed("opened", millis, func(p *Purchase) *int64 { return &p.OpenedMillis }),
		fixed("occurred", millis, func(p *Purchase) *int64 { return &p.OccurredMillis }),
		fixed("cell", u32[uint32](), func(p *Purchase) *uint32 { return &p.Cell }),
		fixed("items", list(soldItems, event.ItemsMax), func(p *Purchase) *[]SoldItem { return &p.Items }),
		optional(0, "campaign", uuid, func(p *Purchase) *ids.UUID { return &p.Campaign }),
		optional(1, "bid", u32[uint32](), func(p *Purchase) *uint32 { return &p.Bid }),
		optional(2, "buyer", u64[uint64](), func(p *Purchase) *uint64 { return &p.Buyer }).since(LevelModels),
		optional(3, "attribution", enum[model.Attribution](model.Attributions),
			func(p *Purchase) *model.Attribution { return &p.Attribution }).since(LevelModels),
	)
	soldItems = newTable("sold item",
		fixed("product", text, func(i *SoldItem) *string { return &i.ProductID }),
		fixed("quantity", whole, func(i *SoldItem) *int64 { return &i.Quantity }),
		fixed("unit price", price, func(i *SoldItem) *money.Micros { return &i.UnitPrice }),
		optional(0, "other", boolean, func(i *SoldItem) *bool { return &i.Other }),
		optional(1, "returned", whole, func(i *SoldItem) *int64 { return &i.Returned }),
		optional(2, "credit", u16[ids.Group](), func(i *SoldItem) *ids.Group { return &i.Credit }),
		optional(3, "vendor", text, func(i *SoldItem) *string { return &i.VendorID }).since(LevelModels),
	).checked(func(i *SoldItem) bool { return i.Returned <= i.Quantity })
	applyReturns = newTable("apply returns",
		fixed("returns", list(itemReturns, unbounded), func(x *ApplyReturns) *[]ItemReturn { return &x.Returns }),
	)
	itemReturns = newTable("item return",
		fixed("purchase", value(purchaseNames), func(r *ItemReturn) *PurchaseName { return &r.Purchase }),
		fixed("item", u16[uint16](), func(r *ItemReturn) *uint16 { return &r.Item }),
		fixed("quantity", whole, func(r *ItemReturn) *int64 { return &r.Quantity }),
	).checked(func(r *ItemReturn) bool { return r.Quantity > 0 && int(r.Item) < event.ItemsMax })
	closeReturns = newTable("close returns",
		fixed("purchases", list(returnedPurchases, CreditsMax), func(x *CloseReturns) *[]ReturnedPurchase { return &x.Purchases }),
	)
	returnedPurchases = newTable("returned purchase",
		fixed("purchase", value(purchaseNames), func(r *ReturnedPurchase) *PurchaseName { return &r.Purchase }),
		fixed("quantity", whole, func(r *ReturnedPurchase) *int64 { return &r.Quantity }),
	)
)

// AppendApplyReturns appends an ApplyReturns.
func AppendApplyReturns(dst []byte, nowMillis int64, x *ApplyReturns) []byte {
	return appendCommand(dst, OpApplyReturns, nowMillis, applyReturns, x)
}

// ReadApplyReturns reads an ApplyReturns.
func ReadApplyReturns(c *Command) (ApplyReturns, error) { return readCommand(c, applyReturns) }

// AppendCloseReturns appends a CloseReturns.
func AppendCloseReturns(dst []byte, nowMillis int64, x *CloseReturns) []byte {
	return appendCommand(dst, OpCloseReturns, nowMillis, closeReturns, x)
}

// ReadCloseReturns reads a CloseReturns.
func ReadCloseReturns(c *Command) (CloseReturns, error) { return readCommand(c, closeReturns) }

// AppendPurchase appends p as a group stores it.
func AppendPurchase(dst []byte, p *Purchase) []byte { return purchases.append(dst, p) }

// Purchase reads what AppendPurchase wrote into p. REQUIRES: *p is the zero value.
func (d *Decoder) Purchase(p *Purchase) { purchases.read(d, p) }
