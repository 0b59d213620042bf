package auction

import (
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// floorRule is a reserve rule of a category that applies to the auction.
type floorRule struct {
	tree   market.Subtree
	amount uint64
	charge model.ChargeType
}

// setFloors computes the reserve prices of the auction: one for each charge type, and the rules that depend on the
// product.
func (s *Scratch) setFloors() {
	s.floorRules = s.floorRules[:0]
	for i, reserve := range s.settings.Reserve {
		s.floors[i] = uint64(max(reserve, 0)) // Not negative.
	}
	for i := range s.rules {
		r := &s.rules[i]
		if !s.applies(r) {
			continue
		}
		amount := uint64(max(r.Amount, 0)) // Not negative.
		if r.Category == "" {
			s.floors[r.Charge] = max(s.floors[r.Charge], amount)
			continue
		}
		s.floorRules = append(s.floorRules, floorRule{s.v.FloorTree(r), amount, r.Charge})
	}
}

// applies reports whether a rule applies to the auction's format and place.
func (s *Scratch) applies(r *market.Floor) bool {
	return (r.AnyFormat || r.Format == s.a.Kind.Format()) &&
		(r.Place == "" || s.place != nil && string(s.v.PlaceID(s.place.Row)) == r.Place)
}

// floorOf returns the reserve price for bids of a charge type on a product; r is nil for another target.
func (s *Scratch) floorOf(charge model.ChargeType, r *market.ProductRow) uint64 {
	if len(s.floorRules) == 0 { // Kept short so that it is inlined where every bid is evaluated.
		return s.floors[charge]
	}
	return s.ruledFloor(charge, r)
}

func (s *Scratch) ruledFloor(charge model.ChargeType, r *market.ProductRow) uint64 {
	floor := s.floors[charge]
	for i := range s.floorRules {
		f := &s.floorRules[i]
		if f.charge != charge || f.amount <= floor {
			continue
		}
		if r != nil && s.v.InSubtree(r, f.tree) || r == nil && s.categories.namesCategory(s.v, f.tree.Category) {
			floor = f.amount
		}
	}
	return floor
}
