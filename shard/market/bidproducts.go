package market

import "github.com/gavel-ads/gavel/shard/ids"

// bidProducts says for each group and ordinal of a listing bid on which product the bid is: the product's row plus 1, 0
// when the bid is not known. A token names a bid by its ordinal, and an event is learned from by product. Ordinals are
// dense and never reused and a bid's target never changes, so an array is enough, and entries of deleted bids stay right.
type bidProducts []rows[uint32]

// setBidProduct records the product of a bid.
func (m *Market) setBidProduct(g ids.Group, bid, product uint32) {
	for len(m.bidProducts) <= int(g) {
		m.bidProducts = append(m.bidProducts, rows[uint32]{})
	}
	r := &m.bidProducts[g]
	for r.count <= bid {
		r.add()
	}
	if *r.at(bid) != product+1 {
		*r.edit(bid, m.edition) = product + 1
	}
}

func (p bidProducts) freeze() []frozen[uint32] {
	all := make([]frozen[uint32], len(p))
	for g := range p {
		all[g] = p[g].freeze()
	}
	return all
}

// ProductOfBid returns the id of the product that a listing bid of a marketplace is on, nil when the view does not know
// the bid.
func (v *View) ProductOfBid(marketplace uint16, g ids.Group, bid uint32) []byte {
	if int(g) >= len(v.bidProducts) || bid >= v.bidProducts[g].count {
		return nil
	}
	row := *v.bidProducts[g].at(bid)
	if row == 0 {
		return nil
	}
	r := v.products.at(row - 1)
	if r.Marketplace != marketplace {
		return nil
	}
	return v.Key(r)
}
