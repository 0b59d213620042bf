package wire

import (
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
)

// id returns the id of a text: its span and the hash by which the market finds it.
func (s *scanner) id(sp auction.Span) auction.ID {
	return auction.ID{Hash: market.Hash(s.seed, s.text(sp)), Span: sp}
}

// folded returns the id of a text that is compared without case. It appends the case-folded form to the arena, because
// the market hashes the folded form too.
func (s *scanner) folded(sp auction.Span) auction.ID {
	mark := len(s.arena)
	s.arena = market.AppendFold(s.arena, s.text(sp))
	return s.id(span(len(s.src)+mark, len(s.src)+len(s.arena)))
}
