package shard

import (
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/market"
)

// ErrLearned is wrapped by the errors of Queries.Verify about what was learned.
var ErrLearned = errors.New("shard: what was learned is inconsistent")

// verifyClickRates checks what can be known of click rates. They cannot be recomputed, because an impression that is not
// charged leaves no journal line. Every event teaches the placement and the format of the ad that it teaches, and these
// are never dropped; no cell is ahead of its marketplace's day; and no marketplace has more ads than it may have.
func (b Queries) verifyClickRates() (err error) {
	known, ads := map[market.ClickCell]bool{}, map[uint16]int{}
	b.R.Scan([]byte{tableClickRate}, []byte{tableClickRate + 1}, func(key, value []byte) bool {
		x := ClickRate{ClickCell: clickCellOf(string(key))}
		if err = readClickRate(&x.Rate, value); err != nil {
			return false
		}
		known[x.ClickCell] = true
		above := x.ClickCell
		above.Product, above.Bid = "", 0
		switch x.Level {
		case market.ClickAd:
			ads[x.Marketplace]++
			above.Level = market.ClickPlacement
		case market.ClickPlacement:
			above.Level, above.Placement = market.ClickFormat, 0
		case market.ClickFormat:
		}
		day := b.periods(x.Marketplace).Day
		switch {
		case !known[above]: // The levels of a format are stored in the order from the format to its ads.
			err = fmt.Errorf("%+v without %+v", x.ClickCell, above)
		case x.Day > day:
			err = fmt.Errorf("%+v is of day %d, and it is day %d", x.ClickCell, x.Day, day)
		case ads[x.Marketplace] > ClickAdsMax:
			err = fmt.Errorf("more than %d ads in marketplace %d", ClickAdsMax, x.Marketplace)
		}
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLearned, err)
	}
	return nil
}

// verifyPurchases checks the same of the purchases after clicks.
func (b Queries) verifyPurchases() (err error) {
	known, ads := map[market.PurchaseCell]bool{}, map[uint16]int{}
	b.R.Scan([]byte{tablePurchases}, []byte{tablePurchases + 1}, func(key, value []byte) bool {
		x := Bought{PurchaseCell: purchaseCellOf(string(key))}
		if err = readPurchases(&x.Purchases, value); err != nil {
			return false
		}
		known[x.PurchaseCell] = true
		if !x.IsFormat() {
			ads[x.Marketplace]++
		}
		day := b.periods(x.Marketplace).Day
		switch {
		case !known[market.PurchaseCell{Marketplace: x.Marketplace, Format: x.Format}]: // A format precedes its ads.
			err = fmt.Errorf("purchases of %+v without its format", x.PurchaseCell)
		case x.Day > day:
			err = fmt.Errorf("purchases of %+v are of day %d, and it is day %d", x.PurchaseCell, x.Day, day)
		case ads[x.Marketplace] > PurchaseAdsMax:
			err = fmt.Errorf("purchases of more than %d ads in marketplace %d", PurchaseAdsMax, x.Marketplace)
		}
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLearned, err)
	}
	return nil
}

func (b Queries) periods(marketplace uint16) (p command.Periods) {
	if stored, found := b.R.Get(keyPeriods(nil, marketplace)); found {
		d := command.NewDecoder(stored)
		d.Periods(&p)
	}
	return p
}
