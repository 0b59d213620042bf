package campaign

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/market"
)

// The words of the interface for the engine's numbers, each list in the order of its constants.
var (
	formatWords = []string{"listing", "banner", "sponsored_brand"}
	periodWords = []string{"daily", "weekly", "monthly", "total"}
	statusWords = []string{"pending", "approved", "rejected", "terminated"}
	priceWords  = []string{"second", "first"}
	chargeWords = []string{"", "CPC", "CPM", "CPA"}
	targetWords = []string{"product", "vendor", "brand", "url"}
	deviceWords = []string{"", "desktop", "mobile"}
)

// numberOf finds a word that the schema has checked; the empty word stands for the first constant.
func numberOf[N ~uint8](words []string, word string) N {
	return N(max(0, slices.Index(words, word))) //nolint:gosec // a handful of words.
}

func statusOf(word string) market.Status { return numberOf[market.Status](statusWords, word) }
