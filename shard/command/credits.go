package command

import (
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// A purchase is credited in three steps, because the touches of its user lie in the groups of the campaigns, and the
// purchase in the group of its id. The Events command that counts a purchase opens a credit. DecideCredits records in
// the same group to which touches its items go; the first decision is final. ApplyCredits counts and charges them
// in the groups of the touches, once for each item. CloseCredits then removes the purchase from the open ones. Every
// step may be repeated, so that any node can finish what another began.

// PurchaseName names an open credit: the state clock at which its group committed the purchase, and the purchase's key.
type PurchaseName struct {
	OpenedMillis int64
	Key          [16]byte
}

// OpenCredit is a purchase whose items are to be credited, as its group stores it.
type OpenCredit struct {
	Marketplace    uint16
	UserHash       uint64
	OccurredMillis int64
	Items          []CreditItem
	Decided        bool
	Credits        []Credit // What was decided; empty before.
}

// CreditItem is an item of an open credit.
type CreditItem struct {
	ProductID string
	VendorID  string
	Quantity  int64
	UnitPrice money.Micros
	Unknown   bool // The catalog did not have the product.
}

// Credit gives an item of a purchase to a touch. It holds everything that the group of the touch needs: a group never
// looks a touch up when it applies commands, because the state before a batch differs between replicas.
type Credit struct {
	Purchase    PurchaseName
	Item        uint16
	Group       ids.Group // The group of the touch.
	Marketplace uint16
	Campaign    uint32      // Ordinal in the group of the touch; so is Bid.
	Bid         uint32      //
	Kind        event.Kind  // Of the touch: event.Impression or event.Click.
	Halo        bool        // The touch is of the item's vendor, not of its product.
	Place       event.Place // Of the touch.
	Cell        uint32      // The rollup cell of the touch: attributed sales are dated by it.
	UserHash    uint64      // The user who was touched.
	Product     string      // The product under which the item is counted.
	Quantity    int64
	UnitPrice   money.Micros
	// Price, ChargeKey and Issued are set when the touch's token is paid by a purchase (charge type CPA).
	Price     money.Micros
	ChargeKey [16]byte
	Issued    uint32 // The hour in which the token was issued.
	// Attribution names the rules that decided, for whoever recomputes the credits after the marketplace chose others.
	Attribution model.Attribution
}

// DecideCredits records the decisions about purchases. A purchase that is unknown or decided is skipped.
type DecideCredits struct {
	Decisions []CreditDecision // At most CreditsMax.
}

// CreditDecision is the decision about one purchase. Without credits none of its items is attributed, and it is closed.
type CreditDecision struct {
	Purchase PurchaseName
	Credits  []Credit // At most one for each item; their items ascend.
	// Attribution names the rules that decided, also when they credited nothing. It is not 0 from LevelModels on only.
	Attribution model.Attribution
}

// ApplyCredits counts and charges them in the group of their touches. An item that was credited before is skipped.
type ApplyCredits struct {
	Credits []Credit
}

// CloseCredits removes purchases whose credits are carried out. Unknown ones are ignored.
type CloseCredits struct {
	Purchases []PurchaseName // At most CreditsMax.
}

// CreditsMax bounds the purchases of a command. BOUND: a purchase has a few hundred bytes, rarely more.
const CreditsMax = 256

var (
	purchaseNames = newTable("purchase name",
		fixed("opened", millis, func(n *PurchaseName) *int64 { return &n.OpenedMillis }),
		fixed("key", key16, func(n *PurchaseName) *[16]byte { return &n.Key }),
	)
	openCredits = newTable("open credit",
		fixed("marketplace", u16[uint16](), func(o *OpenCredit) *uint16 { return &o.Marketplace }),
		fixed("user", u64[uint64](), func(o *OpenCredit) *uint64 { return &o.UserHash }),
		fixed("occurred", millis, func(o *OpenCredit) *int64 { return &o.OccurredMillis }),
		fixed("items", list(creditItems, event.ItemsMax), func(o *OpenCredit) *[]CreditItem { return &o.Items }),
		optional(0, "decided", boolean, func(o *OpenCredit) *bool { return &o.Decided }),
		optional(1, "credits", list(credits, event.ItemsMax), func(o *OpenCredit) *[]Credit { return &o.Credits }),
	)
	creditItems = newTable("credit item",
		fixed("product", text, func(i *CreditItem) *string { return &i.ProductID }),
		fixed("quantity", whole, func(i *CreditItem) *int64 { return &i.Quantity }),
		fixed("unit price", price, func(i *CreditItem) *money.Micros { return &i.UnitPrice }),
		optional(0, "vendor", text, func(i *CreditItem) *string { return &i.VendorID }),
		optional(1, "unknown", boolean, func(i *CreditItem) *bool { return &i.Unknown }),
	)
	credits = newTable("credit",
		fixed("purchase", value(purchaseNames), func(c *Credit) *PurchaseName { return &c.Purchase }),
		fixed("item", u16[uint16](), func(c *Credit) *uint16 { return &c.Item }),
		fixed("group", u16[ids.Group](), func(c *Credit) *ids.Group { return &c.Group }),
		fixed("marketplace", u16[uint16](), func(c *Credit) *uint16 { return &c.Marketplace }),
		fixed("campaign", u32[uint32](), func(c *Credit) *uint32 { return &c.Campaign }),
		fixed("bid", u32[uint32](), func(c *Credit) *uint32 { return &c.Bid }),
		fixed("cell", u32[uint32](), func(c *Credit) *uint32 { return &c.Cell }),
		fixed("user", u64[uint64](), func(c *Credit) *uint64 { return &c.UserHash }),
		fixed("product", text, func(c *Credit) *string { return &c.Product }),
		fixed("quantity", whole, func(c *Credit) *int64 { return &c.Quantity }),
		fixed("unit price", price, func(c *Credit) *money.Micros { return &c.UnitPrice }),
		optional(0, "kind", enum[event.Kind](event.Kinds), func(c *Credit) *event.Kind { return &c.Kind }),
		optional(1, "halo", boolean, func(c *Credit) *bool { return &c.Halo }),
		optional(2, "place", u8[event.Place](), func(c *Credit) *event.Place { return &c.Place }),
		optional(3, "price", price, func(c *Credit) *money.Micros { return &c.Price }),
		optional(4, "charge key", key16, func(c *Credit) *[16]byte { return &c.ChargeKey }),
		optional(5, "issued", u32[uint32](), func(c *Credit) *uint32 { return &c.Issued }),
		optional(6, "attribution", enum[model.Attribution](model.Attributions),
			func(c *Credit) *model.Attribution { return &c.Attribution }),
	).checked(func(c *Credit) bool {
		return c.Quantity > 0 && c.Kind <= event.Click && int(c.Item) < event.ItemsMax && c.Place.Valid()
	})
	decideCredits = newTable("decide credits",
		fixed("decisions", list(creditDecisions, CreditsMax), func(x *DecideCredits) *[]CreditDecision { return &x.Decisions }),
	)
	creditDecisions = newTable("credit decision",
		fixed("purchase", value(purchaseNames), func(d *CreditDecision) *PurchaseName { return &d.Purchase }),
		fixed("credits", list(credits, event.ItemsMax), func(d *CreditDecision) *[]Credit { return &d.Credits }),
		optional(0, "attribution", enum[model.Attribution](model.Attributions),
			func(d *CreditDecision) *model.Attribution { return &d.Attribution }).since(LevelModels),
	).checked(ofPurchase)
	applyCredits = newTable("apply credits",
		fixed("credits", list(credits, unbounded), func(x *ApplyCredits) *[]Credit { return &x.Credits }),
	)
	closeCredits = newTable("close credits",
		fixed("purchases", list(purchaseNames, CreditsMax), func(x *CloseCredits) *[]PurchaseName { return &x.Purchases }),
	)
)

// ofPurchase reports whether the credits of a decision are of its purchase, and each of another item.
func ofPurchase(d *CreditDecision) bool {
	for i := range d.Credits {
		if d.Credits[i].Purchase != d.Purchase || i > 0 && d.Credits[i].Item <= d.Credits[i-1].Item {
			return false
		}
	}
	return true
}

// AppendDecideCredits appends a DecideCredits.
func AppendDecideCredits(dst []byte, nowMillis int64, x *DecideCredits) []byte {
	return appendCommand(dst, OpDecideCredits, nowMillis, decideCredits, x)
}

// ReadDecideCredits reads a DecideCredits.
func ReadDecideCredits(c *Command) (DecideCredits, error) { return readCommand(c, decideCredits) }

// AppendApplyCredits appends a ApplyCredits.
func AppendApplyCredits(dst []byte, nowMillis int64, x *ApplyCredits) []byte {
	return appendCommand(dst, OpApplyCredits, nowMillis, applyCredits, x)
}

// ReadApplyCredits reads a ApplyCredits.
func ReadApplyCredits(c *Command) (ApplyCredits, error) { return readCommand(c, applyCredits) }

// AppendCloseCredits appends a CloseCredits.
func AppendCloseCredits(dst []byte, nowMillis int64, x *CloseCredits) []byte {
	return appendCommand(dst, OpCloseCredits, nowMillis, closeCredits, x)
}

// ReadCloseCredits reads a CloseCredits.
func ReadCloseCredits(c *Command) (CloseCredits, error) { return readCommand(c, closeCredits) }

// AppendOpenCredit appends o as a group stores it.
func AppendOpenCredit(dst []byte, o *OpenCredit) []byte { return openCredits.append(dst, o) }

// OpenCredit reads what AppendOpenCredit wrote into o. REQUIRES: *o is the zero value.
func (d *Decoder) OpenCredit(o *OpenCredit) { openCredits.read(d, o) }

// AppendCredit appends a credit as a group stores it once it is carried out.
func AppendCredit(dst []byte, c *Credit) []byte { return credits.append(dst, c) }

// Credit reads what AppendCredit wrote into c. REQUIRES: *c is the zero value.
func (d *Decoder) Credit(c *Credit) { credits.read(d, c) }
