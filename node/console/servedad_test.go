package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// advertiser is a shop with the ad of a campaign that has 1.00 in all and pays 0.90 for a click.
type advertiser struct {
	*browser
	events int
}

func newAdvertiser(t *testing.T, env *managetest.Environment, ada *browser) *advertiser {
	t.Helper()
	ada.must(200, "PUT", "/console/api/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"va","name":"A"}]}`)
	ada.must(200, "PUT", "/console/api/v1/catalog-search-service/catalogs/products",
		`{"products":[{"id":"p","name":"P","vendors":["va"],"categories":[]}]}`)
	ada.must(200, "POST", "/console/api/v1/billing-service/vendors/va/balance", `{"balance":50}`)
	campaign := model.Campaign{
		VendorID: "va", Name: "c", Type: "manual", Charge: model.CPC, Period: model.Total, Budget: 1_000_000, Active: true,
		Status: model.Approved, Price: model.FirstPrice,
	}
	bid := campaigns.ListingBid("p")
	bid.Amount = 900_000
	if err := env.Store.Tenant(managetest.Main).CreateCampaign(t.Context(), &campaign, []model.Bid{bid}); err != nil {
		t.Fatal(err)
	}
	a := &advertiser{browser: newBrowser(t, env)}
	a.header["Authorization"] = "Bearer " + env.Keys["auction"]
	return a
}

// win returns the resolvedBidId of the ad that wins an auction.
func (a *advertiser) win() string {
	a.Helper()
	answer := a.must(201, "POST", "/v2/auctions", `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p"]}}]}`)
	winners := answer["results"].([]any)[0].(map[string]any)["winners"].([]any)
	if len(winners) != 1 {
		a.Fatalf("the ad does not win: %v", answer)
	}
	return winners[0].(map[string]any)["resolvedBidId"].(string)
}

// report reports an interaction of a user with the ad of a token. A minute passes before it.
func (a *advertiser) report(array, token, user string) {
	a.Helper()
	a.env.Advance(time.Minute)
	a.events++
	a.must(200, "POST", "/v2/events", fmt.Sprintf(`{%q:[{"id":"e%d","occurredAt":%q,"opaqueUserId":%q,"resolvedBidId":%q}]}`,
		array, a.events, a.env.Now().UTC().Format(time.RFC3339), user, token))
}

func servedAdPath(token, more string) string { return "/console/api/served-ads?id=" + token + more }

// What came of an ad says in a line whether it may still be charged, the charge, and each interaction with its effect.
func whatCameOf(ad map[string]any) string {
	var text strings.Builder
	fmt.Fprintf(&text, "open %v", ad["open"])
	if charge, _ := ad["charge"].(map[string]any); charge != nil {
		fmt.Fprintf(&text, ", %v %v of %v for a %v, %v given back", charge["outcome"], charge["amount"], ad["price"], ad["paidBy"], charge["reversed"])
	}
	for _, x := range ad["interactions"].([]any) {
		x := x.(map[string]any)
		fmt.Fprintf(&text, ", %v %v", x["kind"], x["effect"])
	}
	return text.String()
}

// Of an ad that won, staff see whether its click came, what was charged for it and why not more: the budget was used, the click came
// again, or it came too late.
func TestWhatCameOfAnAd(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	shop := newAdvertiser(t, env, ada)
	first, second, third, late := shop.win(), shop.win(), shop.win(), shop.win()
	check := func(why, token, user, want string) map[string]any {
		t.Helper()
		ad := ada.must(200, "GET", servedAdPath(token, user), "")
		if got := whatCameOf(ad); got != want {
			t.Errorf("%s:\n%s, want\n%s", why, got, want)
		}
		return ad
	}
	ad := check("nothing came", first, "", "open true")
	if ad["userKnown"] != false || ad["servedAt"] != "2026-03-17T09:30:00Z" || ad["rank"] != 1.0 || ad["campaignId"] == "" {
		t.Errorf("the ad is %v", ad)
	}
	shop.report("impressions", first, "ann")
	check("an impression", first, "&user=ann", "open true, impression counted")
	shop.report("clicks", first, "ann")
	shop.report("clicks", first, "ann")
	ad = check("two clicks", first, "&user=ann",
		"open false, charged 90 of 90 for a click, 0 given back, impression counted, click decided, click repeated")
	if at := ad["charge"].(map[string]any)["at"]; at != "2026-03-17T09:32:00Z" {
		t.Errorf("the click was charged at %v", at)
	}
	check("another user", first, "&user=bob", "open false, charged 90 of 90 for a click, 0 given back")
	shop.report("clicks", second, "bob")
	check("the rest of the budget", second, "", "open false, clipped 10 of 90 for a click, 0 given back")
	shop.report("clicks", third, "bob")
	check("no budget is left", third, "", "open false, nothing_left 0 of 90 for a click, 0 given back")
	ada.must(201, "POST", "/console/api/v1/billing-service/reversals", `{"resolvedBidId":"`+first+`","amount":40,"reason":"goodwill"}`)
	check("a part is given back", first, "", "open false, charged 90 of 90 for a click, 40 given back")

	env.Advance(8 * 24 * time.Hour)
	shop.report("clicks", late, "eve")
	ada.must(200, "POST", sessionPath, `{"email":"ada@example.com","password":"`+password+`"}`)
	check("after a week", late, "&user=eve", "open false, click late")
}

// signedIn returns the browser of a new person with one right, who is signed in.
func signedIn(t *testing.T, env *managetest.Environment, access store.ConsoleAccess) *browser {
	t.Helper()
	return signedInAs(t, env, string(access.Role)+"@example.com", access)
}

// signedInAs is signedIn for somebody with an address.
func signedInAs(t *testing.T, env *managetest.Environment, email string, access store.ConsoleAccess) *browser {
	t.Helper()
	if access.Role.OfVendor() {
		user := store.User{Email: email, VendorIDs: []string{access.Vendor}}
		if _, err := env.Store.Tenant(access.Marketplace).CreateUser(t.Context(), user); err != nil {
			t.Fatal(err)
		}
	}
	people := env.Store.People()
	u, err := people.Create(t.Context(), store.ConsoleUser{Email: email, Name: email, Access: []store.ConsoleAccess{access}})
	if err != nil {
		t.Fatal(err)
	}
	secret := login.NewSecret()
	key, _ := login.KeyOf(secret)
	if _, err := people.SignIn(t.Context(), &u, key, store.LoginSession{}); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, env)
	b.cookie = &http.Cookie{Name: "gavel_session", Value: secret}
	return b
}

// Nobody else sees what came of an ad: no other marketplace, no vendor, and nobody without a session.
func TestWhoSeesWhatCameOfAnAd(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	token := newAdvertiser(t, env, ada).win()
	invited(t, ada, "ann@example.com", "analyst").must(200, "GET", servedAdPath(token, ""), "")
	newBrowser(t, env).refusedAs(401, "not_signed_in", "GET", servedAdPath(token, ""), "")
	ada.refusedAs(400, "bad_request", "GET", servedAdPath(token[1:], ""), "")
	ada.refusedAs(400, "bad_request", "GET", servedAdPath(token, "&user="+strings.Repeat("x", 361)), "")
	ada.refusedAs(400, "invalid_resolved_bid_id", "GET", servedAdPath("A"+token[:79], ""), "")
	signedIn(t, env, store.ConsoleAccess{Marketplace: managetest.Other, Role: store.RoleAdmin}).
		refusedAs(400, "invalid_resolved_bid_id", "GET", servedAdPath(token, ""), "")
	signedIn(t, env, store.ConsoleAccess{Marketplace: managetest.Main, Role: store.RoleVendorAdmin, Vendor: "va"}).
		refusedAs(403, "forbidden_role", "GET", servedAdPath(token, ""), "")
}
