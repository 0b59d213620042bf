package rollup

import (
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard/money"
)

// ErrUnreadable is returned by Decode for bytes that AppendTo did not write.
var ErrUnreadable = errors.New("unreadable counters")

// fields returns the counters in the order of their stored form. Append only.
func (c *Counters) fields() [28]*int64 {
	return [...]*int64{
		&c.Impressions, &c.ChargedImpressions, (*int64)(&c.SpentImpressions),
		&c.Clicks, &c.ChargedClicks, (*int64)(&c.SpentClicks),
		&c.Purchases, &c.PurchaseQuantity, (*int64)(&c.PurchaseAmount),
		&c.Pageviews, (*int64)(&c.Overdelivery),
		&c.Attributed.Count, &c.Attributed.Quantity, (*int64)(&c.Attributed.Amount),
		&c.Halo.Count, &c.Halo.Quantity, (*int64)(&c.Halo.Amount),
		&c.Viewed.Count, &c.Viewed.Quantity, (*int64)(&c.Viewed.Amount),
		&c.ChargedPurchases, (*int64)(&c.SpentPurchases),
		&c.Invalid[TooSoon], &c.Invalid[TooLate], &c.Invalid[Repeated],
		&c.Invalid[ByCampaignHour], &c.Invalid[ByUserHour], &c.Invalid[ByUserDay],
	}
}

// AppendTo appends the stored form of c: one signed variable-length number for each counter, up to the last one that is
// not 0.
func (c *Counters) AppendTo(dst []byte) []byte {
	fields := c.fields()
	n := len(fields)
	for n > 0 && *fields[n-1] == 0 {
		n--
	}
	for _, f := range fields[:n] {
		dst = binary.AppendVarint(dst, *f)
	}
	return dst
}

// Decode sets c to what AppendTo wrote. It returns ErrUnreadable for other bytes.
func (c *Counters) Decode(b []byte) error {
	*c = Counters{}
	for _, f := range c.fields() {
		if len(b) == 0 {
			return nil
		}
		v, n := binary.Varint(b)
		if n <= 0 {
			return ErrUnreadable
		}
		*f, b = v, b[n:]
	}
	if len(b) != 0 {
		return ErrUnreadable
	}
	return nil
}

// Purchase adds one purchased item to PurchaseQuantity and PurchaseAmount. Both saturate at money.MaxMicros, because
// counting must not fail. They are reported sales and never money that Gavel charges.
func (c *Counters) Purchase(quantity int64, unitPrice money.Micros) {
	c.PurchaseQuantity = saturate(c.PurchaseQuantity, quantity)
	c.PurchaseAmount = money.Micros(saturate(int64(c.PurchaseAmount), int64(amountOf(quantity, unitPrice))))
}

func amountOf(quantity int64, unitPrice money.Micros) money.Micros {
	amount, ok := money.Mul(unitPrice, quantity)
	if !ok {
		return money.MaxMicros
	}
	return amount
}

func saturate(a, b int64) int64 {
	sum, ok := money.Add(money.Micros(min(a, int64(money.MaxMicros))), money.Micros(min(b, int64(money.MaxMicros))))
	if !ok {
		return int64(money.MaxMicros)
	}
	return int64(sum)
}
