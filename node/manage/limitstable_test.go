package manage_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// limit is one bound of the interface's table of limits: what is sent with a size of n, and how sizes from least to most, and
// those one past them, are answered. Sizes count what the row counts: characters, items, or steps of a scale.
//
// limits_test.go tries the bounds that the description states. This table is a second opinion: its numbers were copied from
// the interface by hand, so a bound that is wrong in a type, and therefore in the description, is wrong here.
type limit struct {
	row, field  string // As the interface names them.
	least, most int
	operation   string                                      // Method and target. A %d in it is replaced by the size, for query parameters.
	body        func(n int) string                          // nil: no body.
	good        string                                      // The answer within the bounds.
	below       string                                      // One below least; empty: nothing is smaller.
	above       string                                      // One above most.
	describe    func(rec *httptest.ResponseRecorder) string // Describes an answer; nil means outcome.
}

// at sends a size.
func (l *limit) at(w *managetest.Environment, n int) string {
	method, target, _ := strings.Cut(l.operation, " ")
	target = strings.ReplaceAll(target, "%d", strconv.Itoa(n))
	key, body := "management", ""
	if strings.HasPrefix(target, "/v2/") {
		key = "auction"
	}
	if l.body != nil {
		body = l.body(n)
	}
	rec := call(w, method, target, key, body)
	if l.describe != nil {
		return l.describe(rec)
	}
	return outcome(rec)
}

// outcome is the status, followed by the errCode or the locations and types of violations.
func outcome(rec *httptest.ResponseRecorder) string {
	words := []string{strconv.Itoa(rec.Code)}
	var b struct {
		ErrCode string
		Detail  []violation
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &b); err == nil && rec.Code >= 400 {
		if b.ErrCode != "" {
			words = append(words, b.ErrCode)
		}
		for _, v := range b.Detail {
			words = append(words, strings.Join(v.Loc, ".")+" "+v.Type)
		}
	}
	return strings.Join(words, " ")
}

// TestInterfaceLimits tries every row of the interface's table of limits at its bounds and one past each.
func TestInterfaceLimits(t *testing.T) {
	w := managetest.New(t)
	table := append(storefrontLimits(), managementLimits(stage(t, w))...)
	for _, l := range table {
		t.Run(l.row+"/"+l.field, func(t *testing.T) {
			for _, c := range []struct {
				n    int
				want string
			}{{l.least - 1, l.below}, {l.least, l.good}, {l.most, l.good}, {l.most + 1, l.above}} {
				if c.want == "" {
					continue
				}
				if got := l.at(w, c.n); got != c.want {
					t.Errorf("%s with %d: %s, want %s", l.operation, c.n, got, c.want)
				}
			}
		})
	}

	text, err := os.ReadFile("testdata/limits.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, row := range rows {
		if !slices.ContainsFunc(table, func(l limit) bool { return l.row == row }) {
			t.Errorf("the row %q has no test", row)
		}
	}
	for _, l := range table {
		if !slices.Contains(rows, l.row) {
			t.Errorf("the interface has no row %q", l.row)
		}
	}
}

// repeated is a JSON array of n times an item; %d in it is replaced by the position.
func repeated(item string, n int) string {
	items := make([]string, max(0, n))
	for i := range items {
		items[i] = strings.ReplaceAll(item, "%d", strconv.Itoa(i))
	}
	return "[" + strings.Join(items, ",") + "]"
}

// quoted is a JSON string of n characters, which need more than a byte each.
func quoted(n int) string { return `"` + strings.Repeat("ä", n) + `"` }

const listings = `{"type":"listings","slots":1,"products":{"ids":["p1"]}`

func auctionsOf(one string) string { return `{"auctions":[` + one + `]}` }

func storefrontLimits() []limit {
	const (
		auctions, brands, travel, events = "POST /v2/auctions", "POST /v2/auctions/sponsored-brand", "POST /v2/auctions/travel", "POST /v2/events"
		brand                            = `{"winners":1,"placementId":"here","triggers":{"searchQuery":"shoes"}}`
		hotel                            = `{"type":"hotels","slots":1,"travelContext":{"site":"s"`
	)
	var all []limit
	for operation, item := range map[string]string{auctions: listings + "}", brands: brand, travel: hotel + "}}"} {
		body := func(n int) string { return `{"auctions":` + repeated(item, n) + `}` }
		all = append(
			all,
			limit{
				row: "Auctions per request", field: operation, operation: operation, least: 1, most: 5, body: body,
				good: "201", below: "400 missing_auctions", above: "400 too_many_auctions",
			},
			limit{
				row: "Results per response", field: operation, operation: operation, least: 5, most: 5, body: body,
				good: "201 5 results", above: "400 0 results", describe: countResults,
			},
			limit{
				row: "Results per response", field: operation + ", one", operation: operation, least: 1, most: 1, body: body,
				good: "201 1 results", below: "400 0 results", above: "201 2 results", describe: countResults,
			},
		)
	}
	for array, event := range map[string]string{
		"impressions": ``, "clicks": ``, "purchases": `,"items":[{"productId":"p"}]`, "pageviews": `,"page":{"type":"home"}`,
	} {
		event = `"opaqueUserId":"u","occurredAt":"2026-03-17T09:00:00Z"` + event
		all = append(
			all,
			limit{
				row: "Events per array in one report", field: array, operation: events, most: 50, good: "200", above: "400 bad_request",
				body: func(n int) string {
					return `{"` + array + `":` + repeated(`{"id":"`+strconv.Itoa(n)+`-%d",`+event+`}`, n) + `}`
				},
			},
			limit{
				row: "opaqueUserId length", field: array, operation: events, least: 1, most: 90,
				good: "200", below: "400 invalid_opaque_user_id", above: "400 invalid_opaque_user_id",
				body: func(n int) string {
					return `{"` + array + `":[{"id":"` + strconv.Itoa(n) + `",` + strings.Replace(event, `"u"`, quoted(n), 1) + `}]}`
				},
			},
		)
	}
	return append(
		all,
		limit{
			row: "opaqueUserId length", field: "auction", operation: auctions, most: 90, good: "201", above: "400 invalid_opaque_user_id",
			body: func(n int) string { return auctionsOf(listings + `,"opaqueUserId":` + quoted(n) + `}`) },
		},
		limit{
			row: "Placement id (auction)", operation: auctions, least: 1, most: 8,
			good: "201", below: "400 invalid_placement_id", above: "400 invalid_placement_id",
			body: func(n int) string { return auctionsOf(listings + fmt.Sprintf(`,"placementId":%d}`, n)) },
		},
		limit{
			row: "Locations in geo targeting", operation: auctions, least: 1, most: 2,
			good: "201", below: "400 invalid_geo_targeting", above: "400 too_many_locations",
			body: func(n int) string {
				return auctionsOf(listings + `,"geoTargeting":{"locations":` + repeated(`"l%d"`, n) + `}}`)
			},
		},
		limit{
			row: "Passengers", operation: travel, least: 1, most: 9, good: "201", below: "400 bad_request", above: "400 too_many_passengers",
			body: func(n int) string { return auctionsOf(hotel + fmt.Sprintf(`,"passengers":%d}}`, n)) },
		},
		limit{
			row: "Quality score", field: "listings, in thousandths", operation: auctions, least: 0, most: 1000,
			good: "201", below: "400 invalid_quality_score", above: "400 invalid_quality_score",
			body: func(n int) string {
				return auctionsOf(fmt.Sprintf(`{"type":"listings","slots":1,"products":{"ids":["p1"],"qualityScores":[%.3f]}}`, float64(n)/1000))
			},
		},
		limit{
			row: "Quality score", field: "travel, in thousandths", operation: travel, least: 0, most: 1000,
			good: "201", below: "400 invalid_quality_score", above: "400 invalid_quality_score",
			body: func(n int) string {
				return auctionsOf(hotel + fmt.Sprintf(`},"products":[{"id":"p1","qualityScore":%.3f}]}`, float64(n)/1000))
			},
		},
		limit{
			row: "Experiment variant length", operation: auctions, most: 10, good: "201", above: "400 experiment_variant_too_long",
			body: func(n int) string { return auctionsOf(listings + `,"experimentVariant":` + quoted(n) + `}`) },
		},
		limit{
			row: "Event age", field: "milliseconds", operation: "POST /v2/events?detail=true", most: 30 * 24 * 3600 * 1000,
			good: "200 recorded", above: "200 late", describe: eventStatus,
			body: func(n int) string {
				at := managetest.Start.Add(-time.Duration(n) * time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z")
				return `{"clicks":[{"id":"age ` + at + `","opaqueUserId":"u","occurredAt":"` + at + `"}]}`
			},
		},
	)
}

func countResults(rec *httptest.ResponseRecorder) string {
	var b struct{ Results []json.RawMessage }
	if err := json.Unmarshal(rec.Body.Bytes(), &b); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %d results", rec.Code, len(b.Results))
}

// eventStatus is the status of the only event.
func eventStatus(rec *httptest.ResponseRecorder) string {
	var b struct{ Clicks []struct{ Status string } }
	if err := json.Unmarshal(rec.Body.Bytes(), &b); err != nil || len(b.Clicks) != 1 {
		return outcome(rec)
	}
	return fmt.Sprintf("%d %s", rec.Code, b.Clicks[0].Status)
}
