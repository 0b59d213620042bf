package manage_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// props are resources that the tests of limits need.
type props struct {
	template string // An id.
	offsite  string // The id of a campaign with more products in its report than a page has.
	user     string
}

const (
	limitVendors  = 1001 // One more than a user may have.
	limitProducts = 366  // One more than a page of a report has.
	limitAgency   = 101  // One more than a page of agency campaigns has.
)

// stage creates them.
func stage(t *testing.T, w *managetest.Environment) props {
	t.Helper()
	made := func(method, path, body, member string) string {
		t.Helper()
		rec := call(w, method, "/public/v1/"+path, "management", body)
		if rec.Code > 299 {
			t.Fatalf("%s %s: %d %s", method, path, rec.Code, rec.Body)
		}
		var out map[string]any
		if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		id, _ := out[member].(string)
		return id
	}
	for from := 0; from < limitVendors; from += 500 {
		var items []string
		for v := from; v < min(from+500, limitVendors); v++ {
			items = append(items, fmt.Sprintf(`{"id":"v%d","name":"V"}`, v))
		}
		made("PUT", "catalog-search-service/catalogs/vendors", `{"vendors":[`+strings.Join(items, ",")+`]}`, "")
	}
	for range limitAgency {
		made("POST", "campaign-service/campaigns?vendor_id=v0", `{"name":"C","campaignType":"autobidding","targetRoas":2,
			"budget":{"amount":2000,"type":"weekly"},"bids":[{"target":{"type":"product","id":"p1"},"amount":1}]}`, "")
	}
	p := props{
		template: made("POST", "campaign-service/json-templates", `{"name":"T","description":"D","jsonSchema":{"type":"object"}}`, "id"),
		offsite:  made("POST", "offsite-ads/campaigns", `{"vendorId":"v0","dsp":"google_ads","name":"S","externalId":"g"}`, "campaignId"),
		user:     made("POST", "user-service/advertiser-users", `{"email":"ada@example.com","vendorIds":["v0"]}`, "userId"),
	}
	made("PUT", "offsite-ads/reporting/campaigns/"+p.offsite+"/products", `{"rows":`+repeated(
		`{"date":"2026-03-01","productId":"p%d","impressions":1,"clicks":1,"adSpentDecimal":"1","purchases":0}`, limitProducts)+`}`, "")
	return p
}

func managementLimits(p props) []limit {
	return append(append(pageLimits(p), creativeLimits(p)...), peopleLimits(p)...)
}

func pageLimits(p props) []limit {
	report := "GET /public/v1/offsite-ads/reporting/campaigns/" + p.offsite + "/products?vendor_id=v0&start_date=2026-03-01&end_date=2026-03-31"
	var all []limit
	for _, area := range []string{"agency", "toppie"} {
		page := "GET /public/v1/" + area + "/campaigns"
		all = append(
			all,
			limit{row: "Agency campaigns page size", field: area + ", default", operation: page, least: 100, most: 100, good: "200 100 of more", describe: countPage},
			limit{
				row: "Agency campaigns page size", field: area + ", most", operation: page + "?limit=%d", least: 100, most: 100,
				good: "200 100 of more", above: "422 query.limit less_than_equal", describe: countPage,
			},
			limit{
				row: "Agency campaigns page size", field: area + ", least", operation: page + "?limit=%d", least: 1, most: 1,
				good: "200 1 of more", below: "422 query.limit greater_than_equal", describe: countPage,
			},
		)
	}
	return append(
		all,
		limit{
			row: "Report page size limit", field: "least", operation: report + "&limit=%d", least: 0, most: 0,
			good: "200 0 of more", below: "422 query.limit greater_than_equal", describe: countPage,
		},
		limit{
			row: "Report page size limit", field: "most", operation: report + "&limit=%d", least: 365, most: 365,
			good: "200 365 of more", above: "422 query.limit less_than_equal", describe: countPage,
		},
	)
}

// countPage counts what is on a page.
func countPage(rec *httptest.ResponseRecorder) string {
	var b struct {
		Campaigns, Reports []json.RawMessage
		HasMore            bool
		NextPage           string
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &b); err != nil || rec.Code != 200 {
		return outcome(rec)
	}
	if b.HasMore != (b.NextPage != "") {
		return "hasMore and nextPage disagree: " + rec.Body.String()
	}
	return fmt.Sprintf("200 %d of %s", len(b.Campaigns)+len(b.Reports), map[bool]string{true: "more", false: "all"}[b.HasMore])
}

func creativeLimits(p props) []limit {
	const (
		asset     = "POST /public/v1/assets/asset?vendor_id=v0"
		placement = "POST /public/v1/placement-service/placements"
		templates = "POST /public/v1/campaign-service/json-templates"
	)
	patch := "PATCH /public/v1/campaign-service/json-templates/" + p.template
	number := 0
	unique := func() string { number++; return strconv.Itoa(number) }
	newPlacement := func(external, name string) string {
		return fmt.Sprintf(`{"externalPlacementId":%q,"name":%q,"jsonTemplateId":%q}`, external, name, p.template)
	}
	newTemplate := func(members string) string { return `{"jsonSchema":{"type":"object"},` + members + `}` }
	// Names are unique among templates, so each ends with a number.
	name := func(n int) string {
		tail := unique()
		return strings.Repeat("ä", max(0, n-len(tail))) + tail[:min(n, len(tail))]
	}
	all := []limit{
		{
			row: "Asset name length; metadata key; metadata value", field: "name", operation: asset, least: 1, most: 64,
			good: "201", below: "422 body.name string_too_short", above: "422 body.name string_too_long",
			body: func(n int) string { return `{"name":` + quoted(n) + `}` },
		},
		{
			row: "Asset name length; metadata key; metadata value", field: "metadata key", operation: asset, least: 1, most: 32,
			good: "201", below: "422 body.metadata string_too_short", above: "422 body.metadata string_too_long",
			body: func(n int) string { return `{"name":"A","metadata":{` + quoted(n) + `:"v"}}` },
		},
		{
			row: "Asset name length; metadata key; metadata value", field: "metadata value", operation: asset, most: 64,
			good: "201", above: "422 body.metadata.k string_too_long",
			body: func(n int) string { return `{"name":"A","metadata":{"k":` + quoted(n) + `}}` },
		},
		{
			row: "Asset externalUrl and url length", field: "most, and the answer's", operation: asset, least: 2083, most: 2083,
			good: "201 2083 pending_approval", above: "422 body.externalUrl string_too_long", describe: assetURL,
			body: func(n int) string { return `{"name":"A","externalUrl":"` + address(n) + `"}` },
		},
		// No URL has one character. An empty one counts as absent; then the file is to be uploaded.
		{
			row: "Asset externalUrl and url length", field: "least", operation: asset, least: 1, most: 1,
			good: "422 body.externalUrl url_parsing", below: "201 57 pending_upload", describe: assetURL,
			body: func(n int) string { return `{"name":"A","externalUrl":"` + address(n) + `"}` },
		},
		{
			row: "externalPlacementId length; placement name length", field: "externalPlacementId", operation: placement, least: 1, most: 255,
			good: "201", below: "422 body.externalPlacementId string_too_short", above: "422 body.externalPlacementId string_too_long",
			body: func(n int) string { return newPlacement(strings.Repeat("x", n), "Placement") },
		},
		{
			row: "externalPlacementId length; placement name length", field: "name", operation: placement, least: 5, most: 50,
			good: "201", below: "422 body.name string_too_short", above: "422 body.name string_too_long",
			body: func(n int) string { return newPlacement("unique-"+unique(), strings.Repeat("ä", n)) },
		},
	}
	for _, o := range []struct {
		operation, good, empty string
		wrap                   func(members string) string
	}{
		{templates, "201", "422 body.%s string_too_short", newTemplate},
		{patch, "200", "422 body.%s string_too_short", func(members string) string { return `{` + members + `}` }},
	} {
		const row = "JSON template name; description; URLs"
		method, _, _ := strings.Cut(o.operation, " ")
		full := func(member, value string) string {
			var members strings.Builder
			members.WriteString(`"` + member + `":` + value)
			if o.operation == templates {
				for m, v := range map[string]string{"name": `"` + name(8) + `"`, "description": `"D"`} {
					if m != member {
						members.WriteString(`,"` + m + `":` + v)
					}
				}
			}
			return o.wrap(members.String())
		}
		for member, most := range map[string]int{"name": 50, "description": 100} {
			all = append(all, limit{
				row: row, field: method + " " + member, operation: o.operation, least: 1, most: most,
				good: o.good, below: fmt.Sprintf(o.empty, member), above: "422 body." + member + " string_too_long",
				body: func(n int) string { return full(member, `"`+name(n)+`"`) },
			})
		}
		for _, member := range []string{"previewScreenshot", "previewUrl"} {
			all = append(all, limit{
				row: row, field: method + " " + member, operation: o.operation, least: 20, most: 2083,
				good: o.good, above: "422 body." + member + " string_too_long",
				body: func(n int) string { return full(member, `"`+address(n)+`"`) },
			})
		}
	}
	return all
}

// address is a URL of n characters. The shortest has 20; shorter ones are cut and not valid.
func address(n int) string {
	const base = "https://example.com/"
	if n < len(base) {
		return base[:n]
	}
	return base + strings.Repeat("x", n-len(base))
}

// assetURL is the URL in the answer.
func assetURL(rec *httptest.ResponseRecorder) string {
	var b struct{ URL, Status string }
	if err := json.Unmarshal(rec.Body.Bytes(), &b); err != nil || rec.Code != 201 {
		return outcome(rec)
	}
	return fmt.Sprintf("201 %d %s", len(b.URL), b.Status)
}

func peopleLimits(p props) []limit {
	const (
		invites = "POST /public/v1/invitation-service/invitations"
		users   = "POST /public/v1/user-service/advertiser-users"
		names   = "User e-mail; given name; family name"
	)
	patch := "PATCH /public/v1/user-service/advertiser-users/" + p.user
	number := 0
	unique := func() string { number++; return strconv.Itoa(number) }
	all := []limit{
		{
			row: "Invites per request", operation: invites, least: 1, most: 500,
			good: "200", below: "422 body.invites too_short", above: "422 body.invites too_long",
			body: func(n int) string {
				return `{"invites":` + repeated(`{"vendorId":"v0","vendorEmail":"u%d@example.com"}`, n) + `}`
			},
		},
		{
			row: names, field: "e-mail of a new user", operation: users, least: 100, most: 255,
			good: "201", above: "422 body.email string_too_long",
			body: func(n int) string { return `{"email":"` + mail(n, unique()) + `","vendorIds":["v0"]}` },
		},
		{
			row: names, field: "e-mail of an invitation", operation: invites, least: 100, most: 255,
			good: "200", above: "422 body.invites.0.vendorEmail string_too_long",
			body: func(n int) string { return `{"invites":[{"vendorId":"v0","vendorEmail":"` + mail(n, unique()) + `"}]}` },
		},
		{
			row: "User vendorIds", field: "new user", operation: users, least: 1, most: 1000,
			good: "201", below: "422 body.vendorIds too_short", above: "422 body.vendorIds too_long",
			body: func(n int) string {
				return `{"email":"` + mail(100, unique()) + `","vendorIds":` + repeated(`"v%d"`, n) + `}`
			},
		},
		{
			row: "User vendorIds", field: "patch", operation: patch, least: 1, most: 1000,
			good: "200", below: "422 body.vendorIds too_short", above: "422 body.vendorIds too_long",
			body: func(n int) string { return `{"vendorIds":` + repeated(`"v%d"`, n) + `}` },
		},
	}
	for _, member := range []string{"givenName", "familyName"} {
		above := "422 body." + member + " string_too_long"
		all = append(
			all,
			limit{
				row: names, field: member + " of a new user", operation: users, most: 50, good: "201", above: above,
				body: func(n int) string {
					return `{"email":"` + mail(100, unique()) + `","vendorIds":["v0"],"` + member + `":` + quoted(n) + `}`
				},
			},
			limit{
				row: names, field: member + ", patch", operation: patch, most: 50, good: "200", above: above,
				body: func(n int) string { return `{"` + member + `":` + quoted(n) + `}` },
			},
		)
	}
	for n, want := range map[int]string{255: "404 resource_not_found", 256: "422 query.email string_too_long"} {
		all = append(all, limit{
			row: names, field: "e-mail that is looked up, " + strconv.Itoa(n), least: n, most: n, good: want,
			operation: "GET /public/v1/user-service/advertiser-users?email=" + mail(n, "nobody"),
		})
	}
	return all
}

// mail is an email address of n characters, at least 75, that contains a name.
func mail(n int, name string) string {
	local := name + strings.Repeat("x", 64-len(name))
	rest := n - len(local) - 1 - len(".com")
	var labels []string
	for rest > 0 {
		label := min(rest, 60)
		if rest-label == 1 { // A dot with nothing before it.
			label--
		}
		labels = append(labels, strings.Repeat("d", label))
		rest -= label + 1
	}
	return local + "@" + strings.Join(labels, ".") + ".com"
}
