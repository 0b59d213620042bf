package report

import (
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Attributed are the items of purchases that were credited to ads, and what ads that are paid by purchases cost.
type Attributed struct {
	Sales
	Direct         Sales    `json:"direct" doc:"Items of the advertised product."`
	Halo           Sales    `json:"halo" doc:"Items of the vendor's other products. Purchases have to name the vendor of an item."`
	Click          Sales    `json:"click" doc:"Items that were credited to a click."`
	View           Sales    `json:"view" doc:"Items that were credited to an impression."`
	Charged        int64    `json:"charged" doc:"Items that were charged: the first of each ad that is paid by purchases."`
	AdSpent        int64    `json:"adSpent" doc:"What they cost, in minor units, rounded half up."`
	AdSpentDecimal string   `json:"adSpentDecimal" csv:"number" doc:"Minor units, exact, with as many decimals as the currency needs."`
	ROAS           *float64 `json:"roas" doc:"The amount divided by what impressions, clicks and purchases cost, with three decimals. Null when they cost nothing."`
}

// Sales are items of purchases.
type Sales struct {
	Amount   int64 `json:"amount" doc:"Minor units, rounded half up."`
	Count    int64 `json:"count" doc:"Items, whatever their quantity."`
	Quantity int64 `json:"quantity"`
}

func attributedOf(c *rollup.Counters, exponent uint8) Attributed {
	return Attributed{
		Sales:   salesOf(c.Attributed, rollup.Sales{}, exponent),
		Direct:  salesOf(c.Attributed, c.Halo, exponent),
		Halo:    salesOf(c.Halo, rollup.Sales{}, exponent),
		Click:   salesOf(c.Attributed, c.Viewed, exponent),
		View:    salesOf(c.Viewed, rollup.Sales{}, exponent),
		Charged: c.ChargedPurchases, AdSpent: money.Minor(c.SpentPurchases, exponent),
		AdSpentDecimal: string(money.AppendMinorDecimal(nil, c.SpentPurchases, exponent)),
		ROAS:           roasOf(c.Attributed.Amount, c.Spent()),
	}
}

// salesOf returns sales less a part of them.
func salesOf(s, less rollup.Sales, exponent uint8) Sales {
	return Sales{
		Amount: money.Minor(s.Amount-less.Amount, exponent), Count: s.Count - less.Count, Quantity: s.Quantity - less.Quantity,
	}
}

// roasOf returns the return on what was spent, in thousandths.
func roasOf(amount, spent money.Micros) *float64 {
	if spent <= 0 {
		return nil
	}
	const thousand = 1_000
	return new(float64(int64(float64(amount)/float64(spent)*thousand+0.5)) / thousand)
}
