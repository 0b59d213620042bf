package learn

import (
	"math/bits"

	"github.com/gavel-ads/gavel/shard/money"
)

// Bought is what the clicks on an ad brought: clicks, each as far as its purchases have come, purchases, and the value of
// those. Clicks and purchases are in units of 1/One, the value in micros. All of it has decayed like Counts, and those
// of different groups may be added.
type Bought struct {
	Clicks, Purchases uint64
	Value             uint64 // At most ValueMax, so that the sum over all groups is a number of 63 bits.
}

// ValueMax bounds Bought.Value: 36 billion of the major unit.
const ValueMax = 1 << 55

// Purchases is what is known of the purchases after clicks. A purchase comes minutes to weeks after its click, so a
// click that is too young to have brought one must not count as one that did not. Half of the purchases come within a
// day and half with a mean delay of six days (the delays that Chapelle published in 2014); so a click counts as one half
// at first, and what is pending of it joins by a share each day.
//
// What happens on a day is new until Settle or the end of the day adds it. So a reader of Bought sees a change only at
// moments that the log defines, and not at every click.
type Purchases struct {
	Day uint32 // The marketplace's local day to which everything has decayed.
	Bought
	Pending uint64 // The part of clicks whose purchases are still to come, in units of 1/One.
	New     Bought // Of this day, with whole clicks.
}

const (
	clickAtOnce   = One / 2 // The part of a click whose purchases come within a day.
	dailyMaturity = 10_061  // 1 - e^(-1/6) in units of 1/One: the mean delay of the others is six days.
)

// Click adds a click.
func (p *Purchases) Click(day uint32) {
	p.Decay(day)
	p.New.Clicks += One
}

// Add adds what was bought: a purchase, or for a further item of a purchase that was added already only its value, which
// must not be negative.
func (p *Purchases) Add(day uint32, further bool, value money.Micros) {
	p.Decay(day)
	if !further {
		p.New.Purchases += One
	}
	p.New.Value = min(p.New.Value+uint64(max(value, 0)), ValueMax)
}

// Settle adds what is new to the rest.
func (p *Purchases) Settle() {
	now := p.New.Clicks / One * clickAtOnce
	p.Clicks += now
	p.Pending += p.New.Clicks - now
	p.Purchases += p.New.Purchases
	p.Value = min(p.Value+p.New.Value, ValueMax)
	p.New = Bought{}
}

// Decay moves everything to a day. A day before p.Day changes nothing. Day by day gives the same as at once.
func (p *Purchases) Decay(day uint32) {
	if p.Day >= day {
		return
	}
	p.Settle()
	for p.Day < day {
		if p.Bought == (Bought{}) && p.Pending == 0 {
			p.Day = day // BOUND: everything is 0 after fewer than 1,500 days.
			return
		}
		due := (p.Pending*dailyMaturity + One - 1) / One // Rounded up, so that nothing is pending for ever.
		p.Pending -= due
		p.Clicks, p.Purchases, p.Value = decayed(p.Clicks)+due, decayed(p.Purchases), decayed(p.Value)
		p.Day++
	}
}

// Forgotten reports whether less than one click is left.
func (p *Purchases) Forgotten() bool { return p.Clicks+p.Pending+p.New.Clicks < One }

// PriorPurchase is the expected number of purchases of a click when nothing is known, in units of 1/2^32 and rounded up:
// 10 of 100 clicks.
const PriorPurchase = (10<<32 + 99) / 100

// Rate returns the expected number of purchases of a click, in units of 1/2^32, from RateMin to RateMax. It is the
// prediction of Counts with clicks in place of impressions.
func (b *Bought) Rate(prior *Prior) uint32 {
	return Counts{Impressions: b.Clicks, Clicks: b.Purchases}.Predict(prior)
}

// priorPurchases is the number of purchases that the price of a product counts for as their value, in units of 1/One.
const priorPurchases = 2 * One

// Worth returns the expected value of a purchase of a product that has a price: the mean of what was learned and two
// purchases of the price. Without a price (0) it is the mean, and 0 when nothing was bought.
func (b *Bought) Worth(price money.Micros) money.Micros {
	purchases := b.Purchases
	hi, lo := bits.Mul64(b.Value, One)
	if price > 0 {
		more, low := bits.Mul64(uint64(price), priorPurchases)
		var carry uint64
		lo, carry = bits.Add64(lo, low, 0)
		hi, purchases = hi+more+carry, purchases+priorPurchases
	}
	switch {
	case purchases == 0:
		return 0
	case hi >= purchases:
		return money.MaxMicros
	}
	worth, _ := bits.Div64(hi, lo, purchases)
	return money.Micros(min(worth, uint64(money.MaxMicros)))
}
