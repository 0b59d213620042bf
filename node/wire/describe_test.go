package wire

import (
	"fmt"
	"strings"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

var kindNames = [...]string{
	auction.Listings: "listings", auction.Banners: "banners", auction.SponsoredBrand: "brand", auction.Hotels: "hotels", auction.Flights: "flights",
}

// describeRequest prints the parsed auctions without the fields that have their defaults.
func describeRequest(req *auction.Request) string {
	var b strings.Builder
	texts := func(name string, list []auction.ID) {
		if len(list) == 0 {
			return
		}
		fmt.Fprintf(&b, " %s=[", name)
		for i, id := range list {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%q", req.Text(id.Span))
			if id.Hash != market.Hash(req.Seed, req.Text(id.Span)) {
				b.WriteString(" with a wrong hash")
			}
		}
		b.WriteByte(']')
	}
	text := func(name string, sp auction.Span) {
		if sp.Len > 0 {
			fmt.Fprintf(&b, " %s=%q", name, req.Text(sp))
		}
	}
	for i := range req.Auctions {
		a := &req.Auctions[i]
		fmt.Fprintf(&b, "\n%s slots=%d", kindNames[a.Kind], a.Slots)
		texts("products", a.Products)
		if len(a.Quality) > 0 {
			fmt.Fprintf(&b, " quality=%d", a.Quality)
		}
		texts("variations", a.Variations)
		text("site", a.Site)
		texts([...]string{"", "category", "all-categories", "disjunctions"}[a.Category.Form], a.Category.IDs)
		if len(a.Category.Ends) > 0 {
			fmt.Fprintf(&b, " ends=%d", a.Category.Ends)
		}
		text("search", a.Search)
		texts("locations", a.Locations)
		text("user", a.UserID)
		if a.PlacementIndex > 0 {
			fmt.Fprintf(&b, " placement=%d", a.PlacementIndex)
		}
		b.WriteString([...]string{"", " device=desktop", " device=mobile"}[a.Device])
		text("slot", a.SlotID.Span)
		text("variant", a.Variant)
		if a.Filter.Set {
			fmt.Fprintf(&b, " filter-or=%t", a.Filter.Or)
		}
		texts("attributes", a.Filter.Attributes)
		texts("promotions", a.Filter.Promotions)
		for _, sp := range a.Sources {
			text("source", sp)
		}
		for _, bid := range a.External {
			fmt.Fprintf(&b, "\n  bid %q on %q %d micros %q", req.Text(bid.Source), req.Text(bid.Product.Span), bid.Amount,
				req.Text(bid.Metadata))
		}
	}
	return b.String()
}

// describeBatch prints the parsed events without the fields that have their defaults.
func describeBatch(batch *event.Batch) string {
	var b strings.Builder
	text := func(name string, value []byte) {
		if value != nil {
			fmt.Fprintf(&b, " %s=%q", name, value)
		}
	}
	for i := range batch.Events {
		e := &batch.Events[i]
		fmt.Fprintf(&b, "\n%s[%d] id=%q at=%d user=%q", e.Kind, e.Index, e.ID, e.OccurredMillis, e.UserID)
		text("token", e.ResolvedBidID)
		text("campaign", e.ExternalCampaign)
		text("vendor", e.ExternalVendor)
		if e.EntityType != event.NoEntity {
			fmt.Fprintf(&b, " entity=%d %q", e.EntityType, e.EntityID)
		}
		if e.Device > 0 {
			fmt.Fprintf(&b, " device=%d", e.Device)
		}
		text("channel", e.Channel)
		text("click", e.ClickType)
		text("page", e.PageType)
		text("returnOf", e.ReturnOf)
		for _, it := range batch.Items[e.FirstItem : e.FirstItem+e.Items] {
			fmt.Fprintf(&b, "\n  %d × %q", it.Quantity, it.ProductID)
			text("vendor", it.VendorID)
			if it.HasPrice {
				fmt.Fprintf(&b, " at %s", money.AppendDecimal(nil, it.UnitPrice))
			}
		}
	}
	return b.String()
}
