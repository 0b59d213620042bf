package campaigns

import "slices"

// The words of the interface for the engine's numbers, each list in the order of its constants.
var (
	Formats  = []string{"listing", "banner", "sponsored_brand"}
	Periods  = []string{"daily", "weekly", "monthly", "total"}
	Statuses = []string{"pending", "approved", "rejected", "terminated"}
	Pacings  = []string{"asap", "even"}
	Charges  = []string{"", "CPC", "CPM", "CPA"}
)

// Number finds a word that a schema has checked; the empty word stands for the first constant.
func Number[N ~uint8](words []string, word string) N {
	return N(max(0, slices.Index(words, word))) // A handful of words.
}
