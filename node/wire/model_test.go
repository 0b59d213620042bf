package wire

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// The model is an independent implementation of the parsers for bodies that they accept. It reads the tree that a general
// decoder makes of a body and prints the expected values in the format of describeRequest and describeBatch. It works from
// maps, so its names match exactly, as the parser's must; numbers go through big.Rat, times through package time.

// tree decodes a body into maps with a decoder of the kind of encoding/json.
func tree(body []byte, decode func([]byte) (any, error)) map[string]any {
	v, err := decode(body)
	if err != nil {
		panic(fmt.Sprintf("the reference decoder cannot read %q: %v", body, err))
	}
	return v.(map[string]any)
}

func decodeStd(body []byte) (v any, err error) {
	d := stdjson.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// str returns a string member where an empty or blank one counts as absent.
func str(m map[string]any, name string) string {
	s, _ := m[name].(string)
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

func quoted(name string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, " %q", s)
	}
	return fmt.Sprintf(" %s=[%s]", name, b.String()[1:])
}

func named(name, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf(" %s=%q", name, value)
}

func stringsOf(v any) (list []string) {
	elements, _ := v.([]any)
	for _, e := range elements {
		list = append(list, e.(string))
	}
	return list
}

// rounded returns number × scale, half to even.
func rounded(number any, scale int64) int64 {
	r, ok := new(big.Rat).SetString(string(number.(stdjson.Number)))
	if !ok {
		panic(number)
	}
	r.Mul(r, new(big.Rat).SetInt64(scale))
	twice := new(big.Rat).Add(r, r)
	floor := new(big.Int).Div(r.Num(), r.Denom())
	if rest := new(big.Rat).Sub(twice, new(big.Rat).SetInt(new(big.Int).Lsh(floor, 1))); rest.Cmp(big.NewRat(1, 1)) > 0 ||
		rest.Cmp(big.NewRat(1, 1)) == 0 && floor.Bit(0) == 1 {
		floor.Add(floor, big.NewInt(1))
	}
	return floor.Int64()
}

func modelRequest(body map[string]any, element func(map[string]any) string) string {
	var b strings.Builder
	for _, v := range body["auctions"].([]any) {
		b.WriteString(element(v.(map[string]any)))
	}
	return b.String()
}

func modelSlots(v any) string {
	slots := new(big.Int)
	slots.SetString(string(v.(stdjson.Number)), 10)
	if slots.Cmp(big.NewInt(40)) > 0 {
		slots.SetInt64(40)
	}
	return " slots=" + slots.String()
}

func modelProducts(v any) string {
	products, _ := v.(map[string]any)
	text := quoted("products", stringsOf(products["ids"]))
	scores, scored := products["qualityScores"].([]any)
	if !scored {
		return text
	}
	var quality []int64
	for _, score := range scores {
		quality = append(quality, rounded(score, model.QualityOne))
	}
	return text + fmt.Sprintf(" quality=%d", quality)
}

func modelAuction(a map[string]any) string {
	var b strings.Builder
	banners := a["type"] == "banners"
	b.WriteString("\n" + a["type"].(string) + modelSlots(a["slots"]))
	b.WriteString(modelProducts(a["products"]))
	b.WriteString(modelCategory(a))
	b.WriteString(named("search", str(a, "searchQuery")))
	b.WriteString(modelLocations(a))
	b.WriteString(named("user", str(a, "opaqueUserId")))
	if placement := a["placementId"]; placement != nil {
		fmt.Fprintf(&b, " placement=%s", placement)
	}
	device := str(a, "device")
	if banners && device == "" {
		device = "desktop"
	}
	if device != "" {
		b.WriteString(" device=" + device)
	}
	if banners {
		b.WriteString(named("slot", a["slotId"].(string)))
	}
	b.WriteString(named("variant", str(a, "experimentVariant")))
	if !banners {
		b.WriteString(modelFilter(a))
		b.WriteString(modelDemand(a))
	}
	return b.String()
}

func modelBrand(a map[string]any) string {
	triggers := a["triggers"].(map[string]any)
	return "\nbrand" + modelSlots(a["winners"]) + modelProducts(triggers["products"]) + modelCategory(triggers) +
		named("search", str(triggers, "searchQuery")) + modelLocations(a) + named("user", str(a, "opaqueUserId")) +
		named("slot", a["placementId"].(string)) + named("variant", str(a, "experimentVariant")) + modelFilter(a)
}

func modelTravel(a map[string]any) string {
	var b strings.Builder
	flights := a["type"] == "flights"
	b.WriteString("\n" + a["type"].(string) + modelSlots(a["slots"]))
	list, isList := a["products"].([]any)
	if !isList {
		b.WriteString(modelProducts(a["products"]))
	}
	var products, variations []string
	var quality []int64
	for _, v := range list {
		product := v.(map[string]any)
		products = append(products, product["id"].(string))
		quality = append(quality, model.QualityOne)
		if score := product["qualityScore"]; score != nil {
			quality[len(quality)-1] = rounded(score, model.QualityOne)
		}
		variation, _ := product["variationID"].(string)
		if alias, ok := product["variationId"].(string); ok {
			variation = alias
		}
		variations = append(variations, variation)
	}
	b.WriteString(quoted("products", products))
	if len(quality) > 0 {
		fmt.Fprintf(&b, " quality=%d", quality)
	}
	if flights {
		b.WriteString(quoted("variations", variations))
	}
	b.WriteString(named("site", a["travelContext"].(map[string]any)["site"].(string)))
	if category, ok := a["category"].(map[string]any); ok && !flights {
		if single, ok := category["singleCategory"].(map[string]any); ok {
			category = single
		}
		b.WriteString(quoted("category", []string{category["id"].(string)}))
	}
	b.WriteString(modelLocations(a) + named("user", str(a, "opaqueUserId")))
	if placement := a["placementId"]; placement != nil {
		fmt.Fprintf(&b, " placement=%s", placement)
	}
	if device := str(a, "device"); device != "" {
		b.WriteString(" device=" + device)
	}
	return b.String()
}

func modelCategory(a map[string]any) string {
	c, ok := a["category"].(map[string]any)
	if !ok {
		c = map[string]any{}
		if id := str(a, "category"); id != "" {
			c["id"] = id
		}
	}
	if id, ok := c["id"].(string); ok {
		return quoted("category", []string{id})
	}
	if c["ids"] != nil {
		return quoted("all-categories", stringsOf(c["ids"]))
	}
	arrays, ok := c["disjunctions"].([]any)
	if !ok {
		return ""
	}
	var all []string
	var ends []int
	for _, array := range arrays {
		all = append(all, stringsOf(array)...)
		ends = append(ends, len(all))
	}
	return quoted("disjunctions", all) + fmt.Sprintf(" ends=%d", ends)
}

func modelLocations(a map[string]any) string {
	list := []string{}
	switch geo := a["geoTargeting"].(type) {
	case string:
		list = append(list, str(a, "geoTargeting"))
	case map[string]any:
		list = append(stringsOf(geo["locations"]), str(geo, "location"))
	}
	var folded []string
	for _, l := range list {
		if l != "" {
			folded = append(folded, string(market.AppendFold(nil, []byte(l))))
		}
	}
	return quoted("locations", folded)
}

func modelFilter(a map[string]any) string {
	filter, _ := a["filter"].(map[string]any)
	attributes, promotions := stringsOf(filter["attributes"]), stringsOf(filter["promotions"])
	if len(attributes)+len(promotions) == 0 {
		return ""
	}
	operator := str(filter, "operator")
	if operator == "" {
		operator = str(filter, "operation")
	}
	return fmt.Sprintf(" filter-or=%t", operator == "or") + quoted("attributes", attributes) + quoted("promotions", promotions)
}

func modelDemand(a map[string]any) string {
	var sources, bids strings.Builder
	list, _ := a["demandSources"].([]any)
	for _, v := range list {
		source := v.(map[string]any)
		sources.WriteString(named("source", source["source"].(string)))
		for _, v := range source["bids"].([]any) {
			bid := v.(map[string]any)
			metadata := "" // Compared as a value, since the tree does not keep how it was written.
			if bid["metadata"] != nil {
				metadata = canonical(bid["metadata"])
			}
			fmt.Fprintf(&bids, "\n  bid %q on %q %d micros %q", source["source"], bid["entity"].(map[string]any)["id"],
				rounded(bid["bidAmount"], int64(money.PerMajor)), metadata)
		}
	}
	return sources.String() + bids.String()
}

func canonical(v any) string {
	text, err := stdjson.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func modelBatch(body map[string]any) string {
	var b strings.Builder
	for _, kind := range arrayMembers {
		events, _ := body[kind].([]any)
		for i, v := range events {
			e := v.(map[string]any)
			fmt.Fprintf(&b, "\n%s[%d] id=%q at=%d user=%q", kind, i, e["id"], modelTime(e, kind).UnixMilli(), e["opaqueUserId"])
			if kind == "impressions" || kind == "clicks" {
				b.WriteString(modelTouch(e))
			}
			switch str(e, "deviceType") {
			case "desktop":
				b.WriteString(" device=1")
			case "mobile":
				b.WriteString(" device=2")
			}
			b.WriteString(label("channel", str(e, "channel")))
			if kind == "clicks" {
				b.WriteString(label("click", str(e, "clickType")))
			}
			if kind == "pageviews" {
				b.WriteString(named("page", modelPage(e["page"].(map[string]any)["type"].(string))))
			}
			if kind == "purchases" {
				b.WriteString(named("returnOf", str(e, "returnOf")))
				b.WriteString(modelItems(e["items"].([]any)))
			}
		}
	}
	return b.String()
}

func modelTouch(e map[string]any) string {
	token := str(e, "resolvedBidId")
	text := named("token", token) + named("campaign", str(e, "externalCampaignId")) + named("vendor", str(e, "externalVendorId"))
	entity, ok := e["entity"].(map[string]any)
	if !ok || token != "" {
		return text
	}
	number := map[string]int{"product": 1, "vendor": 2, "brand": 3, "url": 4}[entity["type"].(string)]
	return text + fmt.Sprintf(" entity=%d %q", number, entity["id"])
}

func label(name, value string) string {
	if len([]rune(value)) > 32 {
		return ""
	}
	return named(name, value)
}

func modelPage(text string) string {
	for _, known := range []string{"home", "category", "PDP", "search", "cart"} {
		if strings.EqualFold(text, known) {
			return known
		}
	}
	return "other"
}

func modelTime(e map[string]any, kind string) time.Time {
	text, ok := e["occurredAt"].(string)
	if !ok && kind == "purchases" {
		text = e["purchasedAt"].(string)
	}
	at, ok := stdInstant(text)
	if !ok {
		panic("accepted time " + text)
	}
	return at
}

// These expressions exclude what package time accepts and ISO 8601 does not: hours of one digit, and offsets of 24 hours
// or 60 minutes.
var (
	isoShape  = regexp.MustCompile(`^.{10}[Tt][0-9]{2}:`)
	badOffset = regexp.MustCompile(`^.{19}.*[+-](24|..:?60)`)
)

// stdInstant reads a time with package time.
func stdInstant(text string) (time.Time, bool) {
	if len(text) < 19 || !isoShape.MatchString(text) || badOffset.MatchString(text) {
		return time.Time{}, false
	}
	leap := time.Duration(0)
	if text[17:19] == "60" {
		text, leap = text[:17]+"59"+text[19:], time.Second
	}
	text = strings.ToUpper(text)
	for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Add(leap), true
		}
	}
	return time.Time{}, false
}

func modelItems(items []any) string {
	var b strings.Builder
	for _, v := range items {
		item := v.(map[string]any)
		quantity := int64(1)
		if n := item["quantity"]; n != nil {
			quantity, _ = integer([]byte(n.(stdjson.Number)))
			quantity = min(max(quantity, -quantity), event.PiecesMax) // Negative in a return.
		}
		fmt.Fprintf(&b, "\n  %d × %q", quantity, item["productId"])
		if vendor := str(item, "vendorId"); len([]rune(vendor)) <= 255 {
			b.WriteString(named("vendor", vendor))
		}
		if price := item["unitPrice"]; price != nil {
			fmt.Fprintf(&b, " at %s", money.AppendDecimal(nil, money.Micros(rounded(price, int64(money.PerMajor)))))
		}
	}
	return b.String()
}
