package manage

import (
	"maps"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/shard/auction"
)

// auctionOperation describes an operation that runs auctions.
type auctionOperation struct {
	id, path, doc string
	body, answer  *huma.Schema
}

func (d v2Document) auctionOperations() []auctionOperation {
	return []auctionOperation{
		{"runAuctions", "/v2/auctions", "Run 1 to 5 auctions of listings or banners and get ranked winners.", mixedBody(), mixedAnswer()},
		{"runSponsoredBrandAuctions", "/v2/auctions/sponsored-brand", "Run 1 to 5 auctions of sponsored brands.", brandBody(), brandAnswer()},
		{"runTravelAuctions", "/v2/auctions/travel", "Run 1 to 5 auctions of hotels or flights.", travelBody(), travelAnswer()},
	}
}

func auctionID() *huma.Schema { return text(1, idMax, "") }

// wanted is the schema of the number of winners of an auction.
func wanted() *huma.Schema {
	s := count("Winners wanted; more than " + strconv.Itoa(auction.SlotsMax) + " act as that many.")
	s.Examples = []any{2}
	return s
}

func bucket() *huma.Schema {
	s, most := count("An experiment bucket, 1 to 8."), 8.0
	s.Maximum = &most
	return s
}

// auctionsOf is the schema of a body of auctions with the common members and more.
func auctionsOf(more members, required ...string) *huma.Schema {
	m := members{
		"geoTargeting": object(members{"location": auctionID(), "locations": list(auctionID(), 1, auction.LocationsMax)}),
		"opaqueUserId": text(0, 90, "Without it neither segments nor frequency caps apply."),
	}
	maps.Copy(m, more)
	return object(members{"auctions": list(object(m, required...), 1, auction.AuctionsMax)}, "auctions")
}

func productsSchema() *huma.Schema {
	return object(members{
		"ids": list(auctionID(), 1, auction.ProductsMax), "qualityScores": list(fraction(), 1, auction.ProductsMax),
	}, "ids")
}

func pageSchema() *huma.Schema {
	return object(members{"type": text(0, 0, ""), "pageId": text(0, 0, "")})
}

func mixedBody() *huma.Schema {
	few := func(of *huma.Schema) *huma.Schema { return list(of, 1, auction.CategoryArrayMax) }
	return auctionsOf(members{
		"type":              word("", "listings", "banners"),
		"slots":             wanted(),
		"products":          productsSchema(),
		"category":          object(members{"id": auctionID(), "ids": few(auctionID()), "disjunctions": few(few(auctionID()))}),
		"searchQuery":       text(0, 1024, "At most 32 words."),
		"placementId":       bucket(),
		"slotId":            text(1, idMax, "Required on banners, unknown on listings: the slot's external id."),
		"device":            word("Banners: desktop when absent.", "desktop", "mobile"),
		"page":              pageSchema(),
		"filter":            filterSchema(),
		"experimentVariant": text(0, 10, ""),
		"demandSources":     demandSchema(),
	}, "type", "slots")
}

func brandBody() *huma.Schema {
	return auctionsOf(members{
		"winners":     wanted(),
		"placementId": text(1, idMax, "The placement's externalPlacementId or its UUID."),
		"triggers": &huma.Schema{
			Type: huma.TypeObject, Description: "Exactly one of them.", Properties: members{
				"products": productsSchema(), "category": object(members{"id": auctionID()}, "id"), "searchQuery": text(1, 1024, "At most 32 words."),
			},
		},
		"page":              pageSchema(),
		"filter":            filterSchema(),
		"experimentVariant": text(0, 10, ""),
	}, "winners", "placementId", "triggers")
}

func travelBody() *huma.Schema {
	zero, nine := 0.0, 9.0
	product := object(members{
		"id": auctionID(), "variationID": text(1, idMax, "Required on flights."), "qualityScore": fraction(),
		"price": {Type: huma.TypeNumber, ExclusiveMinimum: &zero, Description: "Flights only; informational."},
	}, "id")
	passengers := count("")
	passengers.Maximum = &nine
	date := func(doc string) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, Format: "date", Description: doc}
	}
	return auctionsOf(members{
		"type":     word("", "hotels", "flights"),
		"slots":    wanted(),
		"products": list(product, 1, auction.ProductsMax),
		"category": &huma.Schema{
			Type: huma.TypeObject, Description: "Hotels only.", Properties: members{"singleCategory": object(members{"id": auctionID()}, "id"), "id": auctionID()},
		},
		"travelContext": object(members{
			"site": text(1, 64, "Without products, those whose metadata.site equals it compete."), "passengers": passengers,
			"travelStartDate": date(""), "travelEndDate": date("After travelStartDate."),
			"travelerType": word("", "family", "group", "solo", "couple"),
			"pageName":     text(0, 64, ""), "platform": text(0, 64, ""), "route": text(0, 64, "Flights only."), "flightType": text(0, 64, "Flights only."),
		}, "site"),
		"placementId": bucket(),
		"device":      word("", "desktop", "mobile"),
	}, "type", "slots", "travelContext")
}

// answerOf is the schema of an answer whose results have one of the types, and whose winners have the common members and more.
func answerOf(types []any, more members, required ...string) *huma.Schema {
	m := members{
		"rank":          count("1 is best."),
		"type":          word("", "product", "vendor", "brand", "url"),
		"id":            text(1, 0, "Of type url the address."),
		"resolvedBidId": text(1, 128, "Send it back in events."),
		"campaignId":    {Type: huma.TypeString, Format: "uuid", Description: "On all own demand."},
	}
	maps.Copy(m, more)
	result := object(members{
		"resultType": word("", types...),
		"winners":    list(object(m, append(required, "rank", "type", "id", "resolvedBidId")...), 0, auction.SlotsMax),
		"error":      {Type: huma.TypeBoolean},
	}, "resultType", "winners", "error")
	return object(members{"results": list(result, 1, auction.AuctionsMax)}, "results")
}

func mixedAnswer() *huma.Schema {
	asset := object(members{"url": text(1, 0, ""), "content": object(nil)}, "url")
	assets := list(asset, 1, 10)
	assets.Description = "Banners."
	return answerOf([]any{"listings", "banners", "external_demand_listings"}, members{
		"demandSource": text(1, 0, "In auctions with external demand."),
		"metadata":     object(nil),
		"asset":        assets,
	})
}

func brandAnswer() *huma.Schema {
	return answerOf([]any{"brand"}, members{
		"vendorId":   text(1, 0, ""),
		"productIds": list(text(1, 0, ""), 0, 200),
		"title":      text(1, 0, ""),
		"content":    object(nil),
	}, "vendorId", "productIds", "content")
}

func travelAnswer() *huma.Schema {
	return answerOf([]any{"hotels", "flights"}, members{"variationID": text(1, 0, "Flights.")})
}

// fraction is a number from 0 to 1.
func fraction() *huma.Schema {
	zero, one := 0.0, 1.0
	return &huma.Schema{Type: huma.TypeNumber, Minimum: &zero, Maximum: &one}
}

func filterSchema() *huma.Schema {
	return object(members{
		"operator":   word("", "and", "or"),
		"attributes": list(text(3, 81, "key:value"), 1, auction.FilterAttributeMax),
		"promotions": list(text(1, 64, ""), 1, auction.FilterPromotionMax),
	})
}

func demandSchema() *huma.Schema {
	zero := 0.0
	bid := object(members{
		"chargeType": word("", "CPC"),
		"entity":     object(members{"type": word("", "product"), "id": text(1, idMax, "")}, "type", "id"),
		"bidAmount":  {Type: huma.TypeNumber, ExclusiveMinimum: &zero, Description: "Major units."},
		"metadata":   object(nil),
	}, "chargeType", "entity", "bidAmount")
	source := object(members{"source": text(1, 32, ""), "bids": list(bid, 0, auction.ExternalBidsMax)}, "source", "bids")
	return list(source, 0, auction.ExternalBidsMax)
}
