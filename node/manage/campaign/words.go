package campaign

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/market"
)

// The interface's words for constants of the engine. The index of a word is the value of its constant.
var (
	formatWords = []string{"listing", "banner", "sponsored_brand"}
	periodWords = []string{"daily", "weekly", "monthly", "total"}
	statusWords = []string{"pending", "approved", "rejected", "terminated"}
	priceWords  = []string{"second", "first"}
	chargeWords = []string{"", "CPC", "CPM", "CPA"}
	targetWords = []string{"product", "vendor", "brand", "url"}
	deviceWords = []string{"", "desktop", "mobile"}
)

// numberOf returns the constant of a word that the schema has checked. The empty word means the first constant.
func numberOf[N ~uint8](words []string, word string) N {
	return N(max(0, slices.Index(words, word))) //nolint:gosec // a handful of words.
}

func statusOf(word string) market.Status { return numberOf[market.Status](statusWords, word) }
