package wire

import (
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
)

// id names a text that the market finds by hash.
func (s *scanner) id(sp auction.Span) auction.ID {
	return auction.ID{Hash: market.Hash(s.seed, s.text(sp)), Span: sp}
}

// folded names a text that is compared without case: its folded form, which the market hashes too, in the arena.
func (s *scanner) folded(sp auction.Span) auction.ID {
	mark := len(s.arena)
	s.arena = market.AppendFold(s.arena, s.text(sp))
	return s.id(span(len(s.src)+mark, len(s.src)+len(s.arena)))
}
