package wire

import (
	"bytes"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/money"
)

// unitPriceMax bounds the price of an item.
const unitPriceMax = 1_000_000_000_000 * money.PerMajor // BOUND: 1e12 major units, set by the interface.

// The members of an item.
const (
	itemProduct = iota
	itemQuantity
	itemPrice
	itemVendor
)

var itemMembers = []string{"productId", "quantity", "unitPrice", "vendorId"}

func (s *eventScanner) purchaseItems(e *event.Event) {
	from := s.pos
	e.FirstItem, e.Items = len(s.batch.Items), 0
	if s.peek() != '[' {
		if s.other() == wrong {
			s.violate(row(eventItems), apierr.BadRequest, s.path.items, "must be an array", from)
		}
		return
	}
	s.array()
	for ; s.element(e.Items); e.Items++ {
		if e.Items >= event.ItemsMax {
			s.skip()
			continue
		}
		s.at[1] = int32(e.Items) // Below ItemsMax.
		s.item(row(eventItems) + rank(e.Items+1)*rankItem)
	}
	if e.Items > event.ItemsMax {
		s.violate(row(eventItems), apierr.BadRequest, s.path.items, "must hold at most 1000 items", missing)
	}
}

// item reads one item. item is the rank, within the event, at which the item's rules begin.
func (s *eventScanner) item(item rank) {
	from := s.pos
	if s.peek() != '{' {
		s.skip()
		s.violate(item, apierr.BadRequest, "purchases[#].items[#]", "must be an object", from)
		return
	}
	s.batch.Items = append(s.batch.Items, event.Item{Quantity: 1})
	it := &s.batch.Items[len(s.batch.Items)-1]
	product := absent
	o := s.object(itemMembers, "purchases[#].items[#]")
	for m := s.member(&o); m != end; m = s.member(&o) {
		switch m {
		case itemProduct:
			product = s.itemProduct(it, item)
		case itemQuantity:
			s.quantity(it, item)
		case itemPrice:
			s.unitPrice(it, item)
		case itemVendor:
			it.VendorID = s.tolerated(idMax)
		}
	}
	if product == absent {
		s.violate(item+1, apierr.MissingProductID, "purchases[#].items[#].productId", "is required: 1 to 255 characters", missing)
	}
}

func (s *eventScanner) itemProduct(it *event.Item, item rank) presence {
	from := s.pos
	sp, p := s.stringValue()
	it.ProductID = s.text(sp)
	const path, rule = "purchases[#].items[#].productId", "must be a string of 1 to 255 characters"
	switch {
	case p == wrong:
		s.violate(item+1, apierr.BadRequest, path, rule, from)
	case p == present && (sp.Len == 0 || longer(it.ProductID, idMax)):
		s.violate(item+1, apierr.MissingProductID, path, rule, from)
	}
	return p
}

func (s *eventScanner) quantity(it *event.Item, item rank) {
	from := s.pos
	text, p := s.numberValue()
	if p == absent {
		return
	}
	n, ok := integer(text)
	if p == wrong || !ok {
		s.violate(item+2, apierr.BadRequest, quantityPath, "must be an integer of at least 1", from)
		return
	}
	at := quantityAt{true, s.base + item + 2, s.at[1], from, s.pos}
	if n < 1 && !s.signs.notPositive.found {
		s.signs.notPositive = at
	}
	if n > -1 && !s.signs.notNegative.found {
		s.signs.notNegative = at
	}
	it.Quantity = min(max(n, -n), event.PiecesMax) // A return is recorded with the number of pieces that came back.
}

const quantityPath = "purchases[#].items[#].quantity"

// quantitySigns are the first quantities of an event that a purchase, and a return, must not have. Which of the two the
// event is may be known only at its end, because returnOf may follow the items.
type quantitySigns struct{ notPositive, notNegative quantityAt }

// quantityAt is the place of a quantity.
type quantityAt struct {
	found    bool
	rank     rank
	item     int32
	from, to int
}

// concludePurchase applies the rules of a purchase that depend on several members. A purchase with returnOf is a return,
// and its quantities are negative. Either of the two alone is refused, so that neither a return counts as a purchase nor
// a wrong quantity as a return.
func (s *eventScanner) concludePurchase(e *event.Event) {
	if e.Items == 0 {
		s.violate(row(eventItems), apierr.NoPurchaseItems, s.path.items, "must hold 1 to 1000 items", missing)
	}
	if len(e.ReturnOf) == 0 {
		s.wrongQuantity(&s.signs.notPositive, apierr.PurchaseItemQuantity, "must be at least 1")
		return
	}
	if bytes.Equal(e.ReturnOf, e.ID) {
		s.violate(row(eventReturnOf), apierr.BadRequest, "purchases[#].returnOf", "must be the id of another event", missing)
	}
	s.wrongQuantity(&s.signs.notNegative, apierr.BadRequest, "must be at most -1 beside returnOf")
}

func (s *eventScanner) wrongQuantity(q *quantityAt, code apierr.Code, rule string) {
	if q.found {
		s.at[1] = q.item
		s.violateAt(q.rank, code, quantityPath, rule, q.from, q.to)
	}
}

func (s *eventScanner) unitPrice(it *event.Item, item rank) {
	from := s.pos
	text, p := s.numberValue()
	if p == absent {
		return
	}
	price, err := money.ParseDecimal(text)
	const path = "purchases[#].items[#].unitPrice"
	switch {
	case len(text) <= numberLenMax && bytes.HasPrefix(text, []byte("-")) && (price < 0 || err != nil):
		s.violate(item+3, apierr.NonPositivePrice, path, "must be at least 0", from)
	case p == wrong || err != nil || price > unitPriceMax:
		s.violate(item+3, apierr.BadRequest, path, "must be a number from 0 to 1e12 of at most 32 characters", from)
	}
	it.UnitPrice, it.HasPrice = price, true
}
