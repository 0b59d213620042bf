package importer

import (
	"encoding/json"
	"strings"
)

// table describes the rows of one kind.
type table struct {
	path    string
	list    string // Member of the body of an upsert that holds the items; "": each row is a POST.
	batch   int    // Rows that are sent before the position is stored.
	columns []column
}

// Lengths that several columns share, in characters.
const (
	idLen  = 255
	urlLen = 2083
)

const (
	amountMost = 20_000_000_000 // Minor units.
	bidsMost   = 500
	objectLen  = 8 << 10 // Bytes of a JSON object.
)

// tables are the kinds. A name with a dot is a member of a member: brand.id. The bounds are those of the management API.
var tables = map[string]*table{
	"catalog": {path: "/public/v1/catalog-search-service/catalogs/products", list: "products", batch: upsertRows, columns: []column{
		{name: "id", kind: text, required: true, least: 1, most: idLen},
		{name: "name", kind: text, required: true, least: 1, most: idLen},
		{name: "vendors", kind: list, required: true, least: 1, most: 100},
		{name: "categories", kind: list, most: 50},
		{name: "description", kind: text, most: 5000},
		{name: "brand.id", kind: text, least: 1, most: idLen},
		{name: "brand.name", kind: text, most: idLen},
		{name: "imageURL", kind: text, most: urlLen},
		{name: "price", kind: decimal, most: 1e12},
		{name: "active", kind: boolean},
		{name: "ean", kind: digits, least: 1, most: 14},
		{name: "quality_score", kind: decimal, most: 1},
		{name: "metadata", kind: object, most: objectLen},
		{name: "globalId", kind: text, most: idLen},
	}},
	"vendors": {path: "/public/v1/catalog-search-service/catalogs/vendors", list: "vendors", batch: upsertRows, columns: []column{
		{name: "id", kind: text, required: true, least: 1, most: idLen},
		{name: "name", kind: text, required: true, least: 1, most: idLen},
		{name: "imageURL", kind: text, most: urlLen},
		{name: "vendor_role", kind: word, words: []string{"admin", "analytics"}},
		{name: "merchant_center_id", kind: text, most: idLen},
		{name: "globalId", kind: text, most: idLen},
	}},
	"campaigns": {path: "/public/v1/campaign-service/campaigns", batch: campaignRows, columns: []column{
		{name: vendorColumn, kind: text, required: true, least: 1, most: idLen},
		{name: "name", kind: text, required: true, least: 1, most: idLen},
		{name: "campaignType", kind: word, required: true, words: []string{"manual", "autobidding", "exclusive"}},
		{name: bidsColumn, kind: array, least: 1, most: bidsMost},
		{name: bidProductsColumn, kind: list, least: 1, most: bidsMost},
		{name: bidAmountColumn, kind: integer, least: 1, most: amountMost},
		{name: "adFormat", kind: word, words: []string{"listing", "banner", "sponsored_brand"}},
		{name: "chargeType", kind: word, words: []string{"CPC", "CPM", "CPA"}},
		{name: "budget.amount", kind: integer, least: 1, most: amountMost},
		{name: "budget.type", kind: word, words: []string{"daily", "weekly", "monthly", "total"}},
		{name: "pacing", kind: word, words: []string{"asap", "even"}},
		{name: "startDate", kind: moment},
		{name: "endDate", kind: moment},
		{name: "isActive", kind: boolean},
		{name: "isAutoTrigger", kind: boolean},
		{name: "status", kind: word, words: []string{"approved", "pending", "rejected"}},
		{name: "externalCampaignId", kind: text, most: idLen},
		{name: "targetRoas", kind: decimal, least: 0.5, most: 20},
		{name: "autobiddingObjective", kind: word, words: []string{"impressions", "clicks", "sales"}},
		{name: "priceRule", kind: word, words: []string{"second", "first"}},
		{name: "walletId", kind: text, least: 36, most: 36},
		{name: "productIds", kind: list, most: 200},
		{name: "multiplierConfig", kind: object, most: batchBytes},
		{name: "targetingFilters", kind: object, most: batchBytes},
		{name: "exclusionFilters", kind: object, most: batchBytes},
		{name: "schedule", kind: object, most: batchBytes},
		{name: "holdoutPercent", kind: integer, most: 50},
	}},
}

// Columns of campaigns that are not members of the body of the API, and the one that they stand for.
const (
	vendorColumn      = "vendorId"
	bidsColumn        = "bids"
	bidProductsColumn = "bidProducts"
	bidAmountColumn   = "bidAmount"
)

// column returns the column of a name, nil for none.
func (t *table) column(name string) *column {
	for i := range t.columns {
		if t.columns[i].name == name {
			return &t.columns[i]
		}
	}
	return nil
}

// nests reports whether columns are named after members of the member.
func (t *table) nests(member string) bool {
	for i := range t.columns {
		if strings.HasPrefix(t.columns[i].name, member+".") {
			return true
		}
	}
	return false
}

// names lists the columns, for messages.
func (t *table) names() string {
	all := make([]string, len(t.columns))
	for i := range t.columns {
		all[i] = t.columns[i].name
	}
	return strings.Join(all, ", ")
}

// complete checks what concerns the whole row, and makes its body.
func (t *table) complete(r *row) {
	for i := range t.columns {
		if c := &t.columns[i]; c.required && r.values[c.name] == nil {
			r.fail(c.name, "", "is required")
		}
	}
	if t.list == "" {
		completeCampaign(r)
	} else if r.values["categories"] == nil && t.column("categories") != nil {
		r.values["categories"] = json.RawMessage("[]") // The API needs the member.
	}
	if len(r.faults) > 0 {
		return
	}
	body := map[string]any{}
	for name, value := range r.values {
		member, inner, nested := strings.Cut(name, ".")
		if !nested {
			body[name] = value
			continue
		}
		if body[member] == nil {
			body[member] = map[string]any{}
		}
		body[member].(map[string]any)[inner] = value
	}
	r.body = mustMarshal(body) // In the order of the names, so that a repeat has the same bytes.
	r.values = nil
}

// completeCampaign takes the vendor, which the API wants beside the body, and makes bids of the columns for one amount.
func completeCampaign(r *row) {
	products, amount := r.values[bidProductsColumn], r.values[bidAmountColumn]
	switch {
	case r.values[bidsColumn] != nil && (products != nil || amount != nil):
		r.fail(bidsColumn, "", "cannot be set together with "+bidProductsColumn+" and "+bidAmountColumn)
	case r.values[bidsColumn] == nil && (products == nil || amount == nil):
		r.fail(bidsColumn, "", "is required, or "+bidProductsColumn+" and "+bidAmountColumn)
	}
	if len(r.faults) > 0 {
		return
	}
	mustUnmarshal(r.values[vendorColumn], &r.vendor)
	delete(r.values, vendorColumn)
	if products == nil {
		return
	}
	type target struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	type bid struct {
		Target target          `json:"target"`
		Amount json.RawMessage `json:"amount"`
	}
	var ids []string
	mustUnmarshal(products, &ids)
	bids := make([]bid, len(ids))
	for i, id := range ids {
		bids[i] = bid{target{"product", id}, amount}
	}
	r.values[bidsColumn] = mustMarshal(bids)
	delete(r.values, bidProductsColumn)
	delete(r.values, bidAmountColumn)
}

// mustMarshal returns the JSON of a value that has been checked.
func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("importer: a checked value is no JSON: " + err.Error())
	}
	return b
}

// mustUnmarshal reads JSON that has been checked.
func mustUnmarshal(b []byte, into any) {
	if err := json.Unmarshal(b, into); err != nil {
		panic("importer: a checked value is no JSON: " + err.Error())
	}
}
