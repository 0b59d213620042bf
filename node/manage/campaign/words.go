package campaign

import (
	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/shard/model"
)

// The words of the interface for the engine's numbers that only this entry point has, each list in the order of its constants.
var (
	priceWords  = []string{"second", "first"}
	targetWords = []string{"product", "vendor", "brand", "url"}
	deviceWords = []string{"", "desktop", "mobile"}
)

func statusOf(word string) model.Status {
	return campaigns.Number[model.Status](campaigns.Statuses, word)
}
