package main_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// groups are the errCodes of answers to auction requests, as the error guide of the interface lists them.
var groups = map[string]string{
	"Request format":        "bad_request invalid_json empty_request request_canceled invalid_operation",
	"Auctions":              "missing_auctions too_many_auctions too_few_slots missing_slots invalid_auction_id missing_promotion_type invalid_promotion_type",
	"Context and placement": "invalid_context invalid_placement_id missing_slot_id",
	"Category":              "invalid_category",
	"Session":               "invalid_opaque_user_id",
	"Product":               "no_products no_products_or_category too_many_products product_info_mismatch invalid_quality_score non_positive_price",
	"Geo":                   "invalid_geo_targeting too_many_locations invalid_location_cell",
	"Device":                "invalid_device",
	"Search":                "too_many_search_query_words",
	"Experiment":            "experiment_variant_too_long",
	"Filters":               "bad_request",
	"Travel": "invalid_travel_category invalid_travel_date_range too_many_passengers invalid_traveler_type invalid_date_format " +
		"invalid_travel_type missing_variation_id missing_flight_travel_context",
}

// raisedElsewhere names the tests that raise a code for which the kit has no file; reserved codes are raised by none.
var raisedElsewhere = map[string]string{
	"request_canceled":   "TestConformanceCallerGone",
	"invalid_operation":  "TestConformanceIdempotencyKey",
	"invalid_auction_id": "", // Reserved for bodies of an older version.
}

// Every errCode of these groups is raised over HTTP, with its status and its body.
func TestConformanceRaisesTheGroups(t *testing.T) {
	shown := map[string]bool{}
	for _, e := range kitFiles(t) {
		var answer struct{ ErrCode string }
		_ = json.Unmarshal([]byte(e.answer), &answer) // TestConformanceKitShowsEverything checks it.
		shown[answer.ErrCode] = true
	}
	tests := testNames(t)
	for group, codes := range groups {
		for code := range strings.FieldsSeq(codes) {
			beside, isBeside := raisedElsewhere[code]
			switch {
			case isBeside && beside != "" && !tests[beside]:
				t.Errorf("%s: %s is raised by %s, which does not exist", group, code, beside)
			case !isBeside && !shown[code]:
				t.Errorf("%s: no file of the kit is answered with %s", group, code)
			}
		}
	}
}

// testNames are the tests of this package.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
	}
	return names
}

// The groups above are those of the interface document, if it is available: beside the repository, or at
// GAVEL_INTERFACE, where it must be.
func TestConformanceGroupsAreTheInterfaces(t *testing.T) {
	dir, required := os.LookupEnv("GAVEL_INTERFACE")
	if !required {
		dir = filepath.Join("..", "..", "shared")
	}
	text, err := os.ReadFile(filepath.Join(dir, "interface.md"))
	if err != nil && !required {
		t.Skip("the interface is not at hand; GAVEL_INTERFACE names its directory")
	}
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)
	for group, codes := range groups {
		_, row, found := strings.Cut(string(text), "\n| "+group)
		row, _, _ = strings.Cut(row, "\n")
		if !found {
			t.Errorf("the interface has no group %s", group)
			continue
		}
		var theirs []string
		if group == "Filters" {
			theirs = []string{"bad_request"} // The row stands for all of them.
		}
		_, row, _ = strings.Cut(row, "|")
		for part := range strings.SplitSeq(strings.Trim(row, " |"), ";") {
			code, _, _ := strings.Cut(strings.TrimSpace(part), ":")
			if word.MatchString(code) {
				theirs = append(theirs, code)
			}
		}
		ours := strings.Fields(codes)
		slices.Sort(ours)
		slices.Sort(theirs)
		if !slices.Equal(ours, theirs) {
			t.Errorf("%s: the interface has %v, here stand %v", group, theirs, ours)
		}
	}
}

// A client that ends its request before the body is complete, and still reads, gets an error.
func TestConformanceCallerGone(t *testing.T) {
	s := startNode(t)
	l := s.dial(s.node.ManageURL)
	l.send("PUT /public/v1/catalog-search-service/catalogs/vendors HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " +
		s.node.Keys.ManagementKey + "\r\nContent-Length: 100\r\n\r\n{\"vendors\":[")
	if err := l.conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	r := l.reply("PUT")
	if r.status != 499 || r.errCode() != "request_canceled" || r.member("error") != "Client Closed Request" {
		t.Errorf("%d %s", r.status, r.body)
	}
}
