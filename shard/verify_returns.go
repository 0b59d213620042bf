package shard

import (
	"fmt"

	"github.com/gavel-ads/gavel/shard/rollup"
)

// verifyCounters checks that nothing was taken out of the counters of reports that was not in them.
func (b Queries) verifyCounters() (err error) {
	for _, table := range []byte{tableCampaignCell, tableProductCell, tableNoCampaignCell, tableSoldCell} {
		b.scanCells([]byte{table}, []byte{table + 1}, func(key []byte, c *rollup.Counters) {
			if err == nil && !c.IsConsistent() {
				err = fmt.Errorf("counters %x are negative, or have parts larger than their sum: %+v", key, *c)
			}
		})
	}
	return err
}

// verifyReturns checks that the counters of what was sold still have the pieces of every credited item that did not come
// back. They may have more, because credits are dropped after some time, and because a full counter stays full when pieces
// come back. Below command.LevelFullCounters such a counter could get less than it must have, and that is reported.
func (b Queries) verifyReturns() (err error) {
	left := make(map[string]int64) // Pieces, by the key of the counters.
	b.R.Scan([]byte{tableCredit}, []byte{tableCredit + 1}, func(_, value []byte) bool {
		s := must(readCredit(value))
		if s.Returned < 0 || s.Returned > s.Quantity {
			err = fmt.Errorf("of the %d pieces of an item of purchase %x %d came back", s.Quantity, s.Purchase.Key, s.Returned)
			return false
		}
		c, found := b.CampaignByOrdinal(s.Campaign)
		if !found {
			err = fmt.Errorf("purchase %x is credited to campaign %d, which does not exist", s.Purchase.Key, s.Campaign)
			return false
		}
		key := string(keySoldCell(nil, c.ID, s.Cell, s.Product))
		sum := rollup.Sales{Quantity: left[key]}
		sum.Add(s.Quantity-s.Returned, 0) // It saturates as the counters do.
		left[key] = sum.Quantity
		return true
	})
	if err != nil {
		return err
	}
	b.scanCells([]byte{tableSoldCell}, []byte{tableSoldCell + 1}, func(key []byte, c *rollup.Counters) {
		if err == nil && c.Attributed.Quantity < left[string(key)] {
			err = fmt.Errorf("counters %x have %d pieces, of the items credited to them %d did not come back", key, c.Attributed.Quantity,
				left[string(key)])
		}
		delete(left, string(key))
	})
	for key, pieces := range left { // order: any of them is an error.
		if err == nil && pieces > 0 {
			err = fmt.Errorf("counters %x do not exist, and %d pieces are credited to them", key, pieces)
		}
	}
	return err
}
