package campaigns_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// members are the members of a campaign body that a case sets, by the names of this test, each with its JSON. The
// JSON "-" leaves out a member that bodies have by default.
type members map[string]string

// entryPoint is one of the listeners' ways to create and change campaigns, with the places of the members in its
// bodies.
type entryPoint struct {
	name           string
	list           string // The member that holds the bids.
	create, change map[string]string
	// datesOnChange is where a change is refused that moves only the start to a time after the end.
	datesOnChange string
	lacks         map[string]string // Members that its bodies do not have, with the reason.
	path          func(vendor string) (path, query string)
	key           func(w *managetest.Environment, vendor string) string
}

func entryPoints() []entryPoint {
	management := func(*managetest.Environment, string) string { return "management" }
	return []entryPoint{
		{
			name: "campaign-service", list: "bids", datesOnChange: "startDate",
			create: map[string]string{
				"name": "name", "budget": "budget.amount", "period": "budget.type", "start": "startDate", "end": "endDate", "active": "isActive",
				"roas": "targetRoas", "charge": "chargeType", "status": "status", "wallet": "walletId", "pacing": "pacing",
				"type": "campaignType", "price": "priceRule",
				"amount": "bids.0.amount", "target": "bids.0.target.id", "targetType": "bids.0.target.type",
			},
			change: map[string]string{
				"name": "name", "budget": "budget.amount", "period": "budget.type", "start": "startDate", "end": "endDate", "active": "isActive",
				"roas": "targetRoas", "status": "status", "wallet": "walletId", "pacing": "pacing", "price": "priceRule",
			},
			path: func(vendor string) (string, string) { return campaigns, "?vendor_id=" + vendor },
			key:  management,
		},
		{
			name: "agency", list: "targets", datesOnChange: "endDate",
			create: map[string]string{
				"name": "name", "budget": "budget", "period": "budgetPeriod", "start": "startDate", "end": "endDate", "roas": "targetRoas",
				"target": "targets.0.id", "targetType": "targets.0.type",
			},
			change: map[string]string{
				"name": "name", "budget": "budget", "period": "budgetPeriod", "start": "startDate", "end": "endDate", "roas": "targetRoas", "active": "isActive",
			},
			lacks: map[string]string{
				"amount": "bids follow from what others bid", "charge": "every campaign is paid by the click", "wallet": "every campaign is paid by the default wallet",
				"type": "every campaign bids by itself", "price": "every campaign pays the second price",
				"pacing": "total budgets are spent as fast as possible", "status": "campaigns are approved", "active": "new campaigns are switched on",
			},
			path: func(vendor string) (string, string) { return base + "/agency/campaigns", "?vendor_id=" + vendor },
			key:  management,
		},
		{
			name: "dialog", list: "bids", datesOnChange: "endDate",
			create: map[string]string{
				"name": "name", "budget": "budget.amount", "period": "budget.type", "start": "startDate", "end": "endDate", "active": "isActive",
				"amount": "bids.0.amount", "target": "bids.0.target.id", "targetType": "bids.0.target.type",
			},
			change: map[string]string{
				"name": "name", "budget": "budget.amount", "period": "budget.type", "start": "startDate", "end": "endDate", "active": "isActive",
			},
			lacks: map[string]string{
				"roas": "a vendor's page names no return", "charge": "every campaign is paid by the click", "wallet": "every campaign is paid by the default wallet",
				"status": "the status is the marketplace's to decide", "pacing": "its budgets have a period",
				"price": "every campaign pays the second price", "type": "a vendor's page buys no sponsorships",
			},
			path: func(vendor string) (string, string) {
				return base + "/modal-service/vendors/" + vendor + "/campaigns", ""
			},
			key: func(w *managetest.Environment, vendor string) string {
				w.Keys["page"] = w.ModalToken("management", vendor)
				return "page"
			},
		},
	}
}

// places are where the members of a case lie in the bodies of an entry point, or why one of them has no place there.
func (p *entryPoint) places(c *entryCase) (places map[string]string, why string) {
	if why, no := c.not[p.name]; no {
		return nil, why
	}
	places = p.change
	if c.creates {
		places = p.create
	}
	for member := range c.set {
		if _, has := places[member]; !has {
			return nil, p.lacks[member]
		}
	}
	return places, ""
}

// body is the body of a case for a vendor.
func (p *entryPoint) body(c *entryCase, places map[string]string, seller string) string {
	all := members{}
	if c.creates {
		all = members{"name": `"C"`, "budget": "1000", "start": `"2026-04-01T00:00:00Z"`, "type": `"manual"`, "roas": "2.5", "amount": "10", "target": `"` + seller + `-0"`, "targetType": `"product"`}
	}
	maps.Copy(all, c.set)
	body, bid := map[string]any{}, map[string]any{}
	for member, text := range all {
		place, has := places[member]
		switch {
		case !has || text == "-":
		case strings.HasPrefix(place, p.list+".0."):
			put(bid, strings.Split(place, ".")[2:], json.RawMessage(text))
		default:
			put(body, strings.Split(place, "."), json.RawMessage(text))
		}
	}
	if c.creates {
		bids := []any{}
		for i := range c.bidCount() {
			if i > 0 {
				put(bid, strings.Split(places["target"], ".")[2:], fmt.Sprint(seller, "-", i))
			}
			text, _ := json.Marshal(bid)
			bids = append(bids, json.RawMessage(text))
		}
		body[p.list] = bids
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func put(object map[string]any, place []string, value any) {
	for ; len(place) > 1; place = place[1:] {
		if object[place[0]] == nil {
			object[place[0]] = map[string]any{}
		}
		object = object[place[0]].(map[string]any)
	}
	object[place[0]] = value
}

const (
	base      = "/public/v1"
	vendors   = base + "/catalog-search-service/catalogs/vendors"
	products  = base + "/catalog-search-service/catalogs/products"
	campaigns = base + "/campaign-service/campaigns"
)

func call(w *managetest.Environment, method, target, key, body string) *httptest.ResponseRecorder {
	return callAt(w.Server, w, method, target, key, body)
}

// callAt calls an operation of one of the nodes.
func callAt(node http.Handler, w *managetest.Environment, method, target, key, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.Keys[key])
	rec := httptest.NewRecorder()
	node.ServeHTTP(rec, r)
	return rec
}

// resultOf says whether a request was accepted, and else its errCode, or of a 422 each violation's type and place.
func resultOf(t *testing.T, rec *httptest.ResponseRecorder) string {
	t.Helper()
	if rec.Code < http.StatusBadRequest {
		return accepted
	}
	var answer struct {
		ErrCode string
		Detail  []struct {
			Type string
			Loc  []string
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if rec.Code != http.StatusUnprocessableEntity {
		return answer.ErrCode
	}
	all := make([]string, len(answer.Detail))
	for i, v := range answer.Detail {
		all[i] = v.Type + " " + strings.Join(v.Loc, ".")
	}
	return strings.Join(all, ", ")
}

// want is the result of a case as an entry point gives it: with the place of the member in its bodies.
func (p *entryPoint) want(c *entryCase, places map[string]string) string {
	kind, member, ofMember := strings.Cut(c.want, " ")
	switch {
	case !ofMember:
		return c.want
	case member == "list":
		return kind + " body." + p.list
	case member == "start after end":
		return kind + " body." + p.datesOnChange
	}
	return kind + " body." + places[member]
}

// stock gives a marketplace a vendor that sells so many products.
func stock(t *testing.T, w *managetest.Environment, key, seller string, count int) {
	t.Helper()
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf(`{"id":"%s-%d","name":"P","vendors":["%s"],"categories":[]}`, seller, i, seller)
	}
	for path, body := range map[string]string{
		vendors:  `{"vendors":[{"id":"` + seller + `","name":"V"}]}`,
		products: `{"products":[` + strings.Join(all, ",") + `]}`,
	} {
		if rec := call(w, "PUT", path, key, body); rec.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}

// campaign makes the campaign that a case changes, past the API: one with 10.00 a day until June, unless shape says
// otherwise.
func (c *entryCase) campaign(t *testing.T, w *managetest.Environment, seller string) ids.UUID {
	t.Helper()
	x := model.Campaign{
		VendorID: seller, Name: "C", Type: "manual", Charge: model.CPC, Budget: 10 * money.PerMajor, Active: true, Status: model.Approved,
		StartMillis: managetest.Start.UnixMilli(), EndMillis: managetest.Start.AddDate(0, 3, 0).UnixMilli(),
	}
	if c.shape != nil {
		c.shape(&x)
	}
	bids := []model.Bid{{Target: seller + "-0", Amount: money.PerMajor, Active: true}}
	if err := w.Store.Tenant(managetest.Main).CreateCampaign(t.Context(), &x, bids); err != nil {
		t.Fatal(err)
	}
	return x.ID
}

// state is everything that a case may change: the campaigns of the vendor.
func state(t *testing.T, w *managetest.Environment, seller string) []model.Campaign {
	t.Helper()
	found, _, err := w.Store.Tenant(managetest.Main).Campaigns(t.Context(), store.CampaignFilter{VendorID: seller, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]model.Campaign, len(found))
	for i := range found {
		all[i] = found[i].Campaign
	}
	return all
}

// run sends a case through an entry point, for a vendor of its own.
func (p *entryPoint) run(t *testing.T, w *managetest.Environment, seller string, c *entryCase, places map[string]string) {
	defer func() { w.Store.Limits = store.Limits{} }()
	stock(t, w, "management", seller, min(500, max(1, c.bidCount())))
	if c.vendor != "" {
		seller = c.vendor
	}
	at, query := p.path(seller)
	method := http.MethodPost
	if !c.creates {
		id := c.campaign(t, w, seller)
		if c.absent {
			id[0]++
		}
		method, at, query = http.MethodPatch, at+"/"+id.String(), ""
	}
	if c.before != nil {
		c.before(t, w, seller)
	}
	was := state(t, w, seller)
	body := p.body(c, places, seller)
	rec := call(w, method, at+query, p.key(w, seller), body)
	if got, want := resultOf(t, rec), p.want(c, places); got != want {
		t.Errorf("%s\nresult %q, want %q: %s", body, got, want, rec.Body)
	}
	if now := state(t, w, seller); c.want != accepted && !reflect.DeepEqual(now, was) {
		t.Errorf("refused, and changed: %+v", now)
	}
}

// TestEntryPointsGiveTheSameResults sends the same good and bad campaigns through campaign-service, agency and
// dialog. Each accepts and refuses the same, with the same code at the place that the member has in its bodies. A
// case that an entry point cannot express has a reason, and what each has really answered is counted.
func TestEntryPointsGiveTheSameResults(t *testing.T) {
	cases := entryCases()
	if len(cases) < 60 {
		t.Fatalf("%d cases", len(cases))
	}
	exercised := map[string]int{}
	for _, p := range entryPoints() {
		w := managetest.New(t)
		stock(t, w, "other", "foreign", 1)
		for i := range cases {
			c := &cases[i]
			places, why := p.places(c)
			if places == nil {
				if why == "" {
					t.Errorf("%s cannot express %q, and no reason is given", p.name, c.name)
				}
				continue
			}
			exercised[p.name]++
			t.Run(p.name+"/"+strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
				p.run(t, w, fmt.Sprint("v", i), c, places)
			})
		}
	}
	want := map[string]int{"campaign-service": 123, "agency": 80, "dialog": 81}
	if !reflect.DeepEqual(exercised, want) {
		t.Errorf("cases exercised: %v, want %v", exercised, want)
	}
	if names := slices.Sorted(slices.Values(namesOf(cases))); len(slices.Compact(names)) != len(cases) {
		t.Error("two cases have one name")
	}
}

func namesOf(cases []entryCase) (names []string) {
	for i := range cases {
		names = append(names, cases[i].name)
	}
	return names
}
