package admin

import (
	"fmt"
	"slices"

	"github.com/gavel-ads/gavel/shard/market"
)

// attributionNames are the values of the setting attribution. INVARIANT: the schema of the setting lists the same values.
var attributionNames = [market.Attributions]string{
	market.AttributionStandard:  "standard",
	market.AttributionReference: "reference",
	market.AttributionLongClick: "long-click",
	market.AttributionAmazon:    "amazon",
}

// attributionNamed returns the rules of a name. REQUIRES: the schema has checked the name.
func attributionNamed(name string) market.Attribution {
	i := slices.Index(attributionNames[:], name)
	if i < 0 {
		panic(fmt.Sprintf("the schema of the setting attribution allows %q, which names no rules", name))
	}
	return market.Attribution(i) // Below market.Attributions.
}
