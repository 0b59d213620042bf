package manage

import (
	"maps"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/event"
)

// documentV2 describes the operations of /v2 by hand, because node/wire reads and writes their bytes without types that a
// description could be derived from.
func documentV2(api huma.API) {
	d := v2Document{api.OpenAPI()}
	for _, op := range d.auctionOperations() {
		d.add(op.id, op.path, http.StatusCreated, op.doc, op.body, op.answer)
	}
	d.add("reportEvents", "/v2/events", http.StatusOK,
		"Report impressions, clicks, purchases and page views; all are committed before the answer.", d.eventsBody(), object(nil))
}

type v2Document struct{ api *huma.OpenAPI }

func (d v2Document) add(id, path string, success int, doc string, body, answer *huma.Schema) {
	problem := d.problem()
	responses := map[string]*huma.Response{strconv.Itoa(success): {Description: http.StatusText(success), Content: jsonContent(answer)}}
	for status, text := range map[int]string{
		http.StatusBadRequest:         "The body is not accepted; repeating it does not help.",
		http.StatusUnauthorized:       "The key is absent, malformed, unknown, expired or revoked.",
		http.StatusForbidden:          "The key is of the wrong kind, or the marketplace is suspended.",
		http.StatusServiceUnavailable: "Not available right now; repeat the same body after Retry-After.",
	} {
		responses[strconv.Itoa(status)] = &huma.Response{Description: text, Content: jsonContent(problem)}
	}
	d.api.AddOperation(&huma.Operation{
		OperationID: id, Method: http.MethodPost, Path: path, Summary: doc, Tags: []string{"Storefront"},
		Security:    []map[string][]string{{"auction": {}}},
		RequestBody: &huma.RequestBody{Required: true, Content: jsonContent(body)},
		Responses:   responses,
	})
}

func (d v2Document) problem() *huma.Schema {
	return d.api.Components.Schemas.Schema(reflect.TypeFor[resource.ErrorBody](), true, "")
}

func jsonContent(s *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: s}}
}

// members are the properties of an object.
type members map[string]*huma.Schema

func object(m members, required ...string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Properties: m, Required: required}
}

func text(minLen, maxLen int, doc string) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: doc}
	if minLen > 0 {
		s.MinLength = &minLen
	}
	if maxLen > 0 {
		s.MaxLength = &maxLen
	}
	return s
}

func word(doc string, words ...any) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Description: doc, Enum: words}
}

// count is a whole number from 1.
func count(doc string) *huma.Schema {
	one := 1.0
	return &huma.Schema{Type: huma.TypeInteger, Description: doc, Minimum: &one}
}

func list(of *huma.Schema, minItems, maxItems int) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: of, MinItems: &minItems, MaxItems: &maxItems}
}

const idMax = 255

func (d v2Document) eventsBody() *huma.Schema {
	zero := 0.0
	common := func(more members, required ...string) *huma.Schema {
		m := members{
			"id":           text(1, 256, "Makes the event idempotent within its array for 30 days."),
			"occurredAt":   {Type: huma.TypeString, Format: "date-time"},
			"opaqueUserId": text(1, 90, ""),
			"deviceType":   word("", "desktop", "mobile"),
			"channel":      text(0, 0, "onsite, offsite, instore or another word."),
		}
		maps.Copy(m, more)
		return object(m, append(required, "id", "occurredAt", "opaqueUserId")...)
	}
	touch := members{
		"resolvedBidId":      text(0, 512, "Of an auction winner."),
		"externalCampaignId": text(0, idMax, "Not beside resolvedBidId."),
		"externalVendorId":   text(0, idMax, ""),
		"entity":             object(members{"type": word("", "product", "vendor", "brand", "url"), "id": text(1, 0, "")}, "id"),
		"clickType":          text(0, 0, "Clicks only."),
	}
	item := object(members{
		"productId": text(1, idMax, ""),
		"quantity":  count("Default 1."),
		"unitPrice": {Type: huma.TypeNumber, Minimum: &zero, Description: "Major units; absent: the catalog price."},
		"vendorId":  text(0, 0, ""),
	}, "productId")
	page := object(members{"type": text(1, 0, ""), "pageId": text(0, 0, "")}, "type")
	return object(members{
		"impressions": list(common(touch), 0, event.PerArrayMax),
		"clicks":      list(common(touch), 0, event.PerArrayMax),
		"purchases":   list(common(members{"items": list(item, 1, event.ItemsMax)}, "items"), 0, event.PerArrayMax),
		"pageviews":   list(common(members{"page": page}, "page"), 0, event.PerArrayMax),
	})
}
